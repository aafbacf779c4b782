# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The brick is killed under a disk: requests wait for it, or fail in time. What
# was completed and not flushed is there afterwards where an acknowledgement
# means that it is in memory (verbs on soft RoCE), or where there are copies; else
# the next flush fails. Also with CARRIER=libfabric-tcp; the own tcp has no cache
# that could lose anything: kfbrick-commit.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200

write_over_and_over() { # N times the same, each flushed
	for _i in $(seq "$1"); do
		dd if=/tmp/input of="$DISK" bs=64k oflag=direct conv=fsync \
			2>/tmp/dd.err || return
	done
}

disk_setup
head -c $((16 << 20)) /dev/urandom >/tmp/input
check "a disk is attached" attach_disk --size 16M --queues 2 \
	--reconnect-s 600 || exit
instance=$(cat "$CTL/instance_id")
write_over_and_over 5 &
writer=$!
check "it is being written" wait_for $LONG_S counter_above writes 20
kill_brick
check "the disk notices that the brick is gone" \
	wait_for $LONG_S state_is connecting
check "what is written waits" kill -0 $writer
check "brickd serves again" serve_brick
check "the disk is up again" wait_for $LONG_S state_is up
check "at another instance" test "$(cat "$CTL/instance_id")" != "$instance"
check "the writer has noticed nothing" wait $writer || diag "$(cat /tmp/dd.err)"
dd if="$DISK" of=/tmp/output bs=1M count=16 iflag=direct 2>/dev/null
check "what it wrote is there" cmp /tmp/input /tmp/output
check "it is detached" detach_disk

lose() { # the brick, and get it back
	kill_brick
	wait_for $LONG_S state_is connecting && serve_brick
}

write_unflushed() {
	dd if=/tmp/input of="$DISK" bs=64k count="$1" oflag=direct conv=notrunc
}

is_there() { # is_there N: 64 KiB pieces of the input
	dd if="$DISK" of=/tmp/output bs=64k count="$1" iflag=direct &&
		cmp -n $(($1 << 16)) /tmp/input /tmp/output
}

nothing_lost() { # nothing_lost WHAT N
	check "$1: the brick is lost and found" lose
	check "$1: the disk is up again" wait_for $LONG_S state_is up
	check "$1: a flush is good" xfs_io -c fsync "$DISK"
	check "$1: what was not flushed is there" is_there "$2"
}

with_copies() { # with_copies WHAT MIB OPTION...
	_of=$1 _mb=$2
	shift 2
	check "$_of: a disk is attached" attach_disk --size 16M --queues 2 \
		--reconnect-s 600 "$@" || exit
	check "$_of: there is room for $_mb MiB" \
		test "$(retained mb)" -eq "$_mb"
	check "$_of: it is written and not flushed" write_unflushed 16
	nothing_lost "$_of" 16
	if [ $ACKS_PLACE = no ]; then
		check "$_of: copies were written again" \
			test "$(retained replayed)" -gt 0
	else
		check "$_of: no copy was needed" \
			test "$(retained replayed)" -eq 0
	fi
	check "$_of: it is detached" detach_disk
}

# More than there is room for: flushes make room, and what has none waits.
full_room() {
	check "little room: a disk is attached" attach_disk --size 16M \
		--queues 2 --reconnect-s 600 --retain-mb 4 || exit
	check "little room: it is filled, and never flushed" write_unflushed 256
	check "little room: flushes have made room" \
		test "$(retained flushes)" -gt 0
	check "little room: never more than there is" \
		test "$(retained bytes)" -le $((4 << 20))
	nothing_lost "little room" 256
	diag "$(cat "$CTL/retain")"
	check "little room: it is detached" detach_disk
}

without_copies() {
	check "no copies: a disk is attached" attach_disk --size 16M \
		--queues 2 --reconnect-s 600 --retain-mb 0 || exit
	check "no copies: it is written and not flushed" write_unflushed 16
	if [ $ACKS_PLACE = yes ]; then
		nothing_lost "no copies" 16
		check "no copies: it is detached" detach_disk
		return
	fi
	check "no copies: the brick is lost and found" lose
	check "no copies: the disk says that writes may be lost" \
		wait_for $LONG_S state_is lossy
	diag "$(cat "$CTL/last_error")"
	check_fails "no copies: the next flush fails" xfs_io -c fsync "$DISK"
	check_fails "no copies: so does a write" write_unflushed 1
	check "no copies: it can be read" is_there 1
	check_fails "no copies: detaching says so" detach_disk
}

ACKS_PLACE=no DEFAULT_MB=64
[ "$CARRIER" != verbs ] || ACKS_PLACE=yes DEFAULT_MB=0
with_copies default $DEFAULT_MB
with_copies copies 64 --retain-mb 64
full_room
without_copies

check "one with a short timeout is attached" attach_disk --size 16M \
	--reconnect-s 2
kill_brick
check "it has failed in time" wait_for $LONG_S state_is failed
check_fails "a write fails" dd if=/dev/zero of="$DISK" bs=4096 count=1 \
	oflag=direct
check_fails "so does a read" dd if="$DISK" of=/dev/null bs=4096 count=1 \
	iflag=direct
diag "$(cat "$CTL/last_error")"
check "it can be detached" detach_disk
check_fails "it is gone" test -e "$DISK"
check "brickd serves again" serve_brick
disk_end
