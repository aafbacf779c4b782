# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The brick is killed under a disk: requests wait for it, or fail in time.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200

writes_above() { # writes_above N: so many were posted
	[ "$(counter writes)" -gt "$1" ]
}

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
check "it is being written" wait_for $LONG_S writes_above 20
kill_brick
check "the disk notices that the brick is gone" \
	wait_for $LONG_S state_is away
check "what is written waits" kill -0 $writer
check "brickd serves again" serve_brick
check "the disk is up again" wait_for $LONG_S state_is up
check "at another instance" test "$(cat "$CTL/instance_id")" != "$instance"
check "the writer has noticed nothing" wait $writer || diag "$(cat /tmp/dd.err)"
dd if="$DISK" of=/tmp/output bs=1M count=16 iflag=direct 2>/dev/null
check "what it wrote is there" cmp /tmp/input /tmp/output
check "it is detached" detach_disk

check "one with little patience is attached" attach_disk --size 16M \
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
