# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The resource agent ocf:kfbrick:disk, as a cluster manager runs it: start, monitor and
# stop, with the disk open, with its brick away, and when it has failed.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# FILES: initiator/brickctl/ocf/disk.in
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

NOT_RUNNING=7

agent() { # agent ACTION [NAME=VALUE...]: parameters beside those of all
	_action=$1
	shift
	env OCF_ROOT=/usr/lib/ocf OCF_RESOURCE_INSTANCE=data \
		BRICKCTL="$(command -v brickctl)" \
		OCF_RESKEY_brick="$CARRIER://$BRICK_IP" OCF_RESKEY_client=a \
		OCF_RESKEY_key_file=$KEY OCF_RESKEY_name=data OCF_RESKEY_size=16 \
		OCF_RESKEY_reconnect_s=2 OCF_RESKEY_options="$OPTIONS" "$@" \
		sh /vm/files/disk.in "$_action"
}

ends() { # ends STATUS ACTION [NAME=VALUE...]
	_want=$1
	shift
	agent "$@" >/tmp/said 2>&1
	_status=$?
	[ $_status -eq "$_want" ] && return
	echo "$1 ends with $_status"
	cat /tmp/said
	return 1
}

said() {
	grep -qF -e "$1" /tmp/said
}

writes() { # writes OPTION...: of dd
	dd if=/dev/urandom of=/dev/kfbrick0 bs=1M count=4 conv=notrunc "$@"
}

disk_setup
CTL=/sys/block/kfbrick0/kfbrick
OPTIONS=
[ "$PROVIDER" = verbs ] || OPTIONS=--allow-untrusted-tcp
check "the parameters are right, and right here" \
	ends 0 validate-all OCF_CHECK_LEVEL=10
check "it does not run" ends $NOT_RUNNING monitor
check "it is stopped" ends 0 stop
check "it starts" ends 0 start
check "it runs" ends 0 monitor
check "it is up, by its name" test "$(cat $CTL/state $CTL/name)" = "up
data"
check "it starts once" ends 0 start
check "there is one" test "$(ls -d /sys/block/kfbrick*)" = /sys/block/kfbrick0
exec 5</dev/kfbrick0
check "it does not stop while it is open" ends 1 stop
check "and says why" said "in use"
check "it still runs" ends 0 monitor
exec 5<&-
check "it is written, and not flushed" writes oflag=direct
check "it stops, and flushes" ends 0 stop
check "it does not run any more" ends $NOT_RUNNING monitor
check "it is stopped again" ends 0 stop

check "what the brick refuses fails, and says so" \
	ends 1 start OCF_RESKEY_base=1T
check "namely that" said "outside this client's grants"
check "nothing is left of it" ends $NOT_RUNNING monitor

brickctl --client a --key-file $KEY --brick "$CARRIER://$BRICK_IP" \
	${OPTIONS:+"$OPTIONS"} \
	map 0x0+1 --rw >/tmp/mapped &
MAP=$!
check "somebody has a block" wait_for 60 test -s /tmp/mapped
agent start >/tmp/waiting 2>&1 &
START=$!
check "to start waits for it" wait_for 60 grep -q "start waits" /tmp/waiting
check_fails "there is no disk meanwhile" test -e /sys/block/kfbrick0
kill $MAP
check "it starts when it is given back" wait $START
check "it runs" ends 0 monitor
check "it stops" ends 0 stop

check "it starts on a brick that goes" ends 0 start OCF_RESKEY_reconnect_s=1000
kill_brick
check "its loss is noticed" wait_for 60 state_is connecting
check "it runs meanwhile" ends 0 monitor
check "and is said to wait" said "its requests wait"
check "with nothing to flush it stops without its brick" ends 0 stop
check "it does not run" ends $NOT_RUNNING monitor
check "brickd serves again" serve_brick
check "it starts there" ends 0 start
check "it is written, and not flushed" writes oflag=direct
kill_brick
check "it fails when the brick stays away" wait_for 60 state_is failed
check "its failure is told" ends 1 monitor
check "by its name" said "disk data (kfbrick0) is failed"
check "to start does not hide it" ends 1 start
check "that writes may be lost fails its stop" ends 1 stop
check "and is said" said "may not be durable"
check "it does not run" ends $NOT_RUNNING monitor
check "it is stopped" ends 0 stop
check "brickd serves again" serve_brick
disk_end
