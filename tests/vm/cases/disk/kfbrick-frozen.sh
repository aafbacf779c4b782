# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A host is stopped while it writes a shared disk, with what it has under way, is
# fenced meanwhile, and goes on when another one has its blocks: no byte of it lands.
# KFB_FREEZES says how often.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# GUESTS: 2
# NVDIMM: 96M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 3600

LONG_S=300
FREEZES=${KFB_FREEZES:-1}
SIZE=4M
WRITERS="0 1 2 3" # each has a MiB
BRICK_IP=$SERVER_IP

ctl() { # as this guest
	brickctl_as "$NAME" 60 "$@"
}

attach_shared() {
	attach_disk --shared --size $SIZE --queues 2 --reconnect-s 600 \
		--wait-s 120
}

# ---- the brick's guest, which takes the blocks

is_silent() {
	! peer_has up
}

take_all() { # other bytes each time, durably
	head -c 4194304 /dev/urandom >/tmp/mine &&
		dd if=/tmp/mine of="$DISK" bs=64k oflag=direct conv=notrunc,fsync
}

differences() { # how many bytes of the disk are not this guest's
	dd if="$DISK" of=/tmp/output bs=64k iflag=direct 2>/dev/null &&
		cmp -l /tmp/mine /tmp/output | wc -l
}

freeze_once() { # freeze_once N
	check "$1: the other one writes" wait_peer "writes-$1" $LONG_S || return
	freeze_peer
	check "$1: it is stopped" wait_for $LONG_S is_silent || return
	check "$1: it is fenced" watch fence two || return
	check "$1: all blocks are written by this one" take_all
	thaw_peer
	check "$1: the other one goes on, and is told" \
		wait_peer "told-$1" $LONG_S || return
	n_landed=$((n_landed + $(differences)))
	check "$1: it is admitted" watch admit two
	check "$1: its disk is dead" wait_peer "dead-$1" $LONG_S || return
	n_landed=$((n_landed + $(differences)))
	check "$1: no byte of it has landed" test "$n_landed" -eq 0
	announce "seen-$1"
}

server() {
	dax=$(devdax_setup) || bail "a devdax namespace can be made"
	# No lease ends what the fence has to.
	configure_hosts "$dax" "$BRICK_IP" "lease-ms = 600000" \
		"fences = /tmp/fences"
	check "devdax is formatted" brickd format "$dax" --force
	check "brickd serves it" serve_brick || diag "$(cat "$BRICK_LOG")"
	check "the blocks are allocated" ctl alloc 0x0+2
	check "a shared disk is attached" attach_shared || exit
	announce attached
	n_landed=0 _n=0
	while [ $_n -lt "$FREEZES" ]; do
		_n=$((_n + 1))
		freeze_once $_n || break
	done
	diag "$_n times frozen and fenced: $n_landed bytes landed after that"
	check "the other one is done" wait_peer "done" $LONG_S
	check "it is detached" detach_disk
	check "the driver unloads" rmmod kfbrick
	check "brickd stops" stop_brick
}

# ---- the guest that is stopped

write_on() { # write_on N: other bytes each time, until a write fails
	while head -c 65536 /dev/urandom >"/tmp/next.$1" &&
		dd if="/tmp/next.$1" of="$DISK" bs=64k seek=$(($1 * 16)) \
			oflag=direct conv=notrunc 2>/dev/null; do
		:
	done
}

is_told() {
	grep -q fenced "$CTL/last_error" && state_is connecting
}

be_frozen() { # be_frozen N
	check "$1: a shared disk is attached" attach_shared || return
	_writes=$(counter writes) _pids=
	for _writer in $WRITERS; do
		write_on "$_writer" &
		_pids="$_pids $!"
	done
	check "$1: it writes" wait_for $LONG_S counter_above writes \
		$((_writes + 16)) || return
	announce "writes-$1"
	check "$1: it is told that it is fenced" wait_for $LONG_S is_told ||
		return
	announce "told-$1"
	check "$1: once admitted its disk is dead" \
		wait_for $LONG_S state_is dead || return
	for _pid in $_pids; do
		check "$1: who wrote has failed" wait_for $LONG_S is_over "$_pid"
	done
	announce "dead-$1"
	detach_disk >/tmp/detach.out 2>&1
	check "$1: the other one has looked" wait_peer "seen-$1" $LONG_S
}

client() {
	check "the driver loads" modprobe kfbrick
	announce up
	check "the other one has the disk" wait_peer attached $LONG_S || exit
	_n=0
	while [ $_n -lt "$FREEZES" ]; do
		_n=$((_n + 1))
		be_frozen $_n || break
	done
	check "the driver unloads" rmmod kfbrick
	announce "done"
}

modprobe -q kfabric_verbs
check "the wire is up" net_setup || exit
check "soft RoCE starts on eth0" rxe_setup rxe0 eth0 || exit
modprobe kfbrick
make_key
check "the guests meet" meet met $LONG_S || exit
$ROLE
check "the guests part" meet bye $LONG_S
