# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A disk whose writes are durable when they complete: over TCP, and no flush.
# NEEDS: base nvdimm fs
# KO: kfabric_core kfabric_tcp kfbrick
# BIN: brickd brickd-caches brickctl
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 600

# brickd-caches keeps in memory what was not written back, and SIGKILL takes it:
# what a write left there would be gone.

use_carrier tcp
LONG_S=200

write_cache_is() {
	grep -qx "$1" "/sys/block/${DISK#/dev/}/queue/write_cache"
}

part() { # part N OPTION...: the N-th MiB of the input goes where it belongs
	_part=$1
	shift
	dd if=/tmp/input of="$DISK" bs=1M count=1 skip="$_part" seek="$_part" \
		oflag=direct conv=notrunc "$@"
}

has_parts() { # has_parts N: so many are there
	dd if="$DISK" of=/tmp/output bs=1M count="$1" iflag=direct &&
		cmp -n $(($1 << 20)) /tmp/input /tmp/output
}

disk_setup
check "a brick serves that loses what is not written back" \
	restart_brick brickd-caches "lease-ms = 600000" || exit
check "a disk is attached" attach_disk --base 0x0 --size 32M --queues 2 \
	--reconnect-s 300 || exit
check "a write to it is durable" test "$(cat "$CTL/flush_mode")" = commit
check "it has no cache" write_cache_is "write through"
check "no copies are kept" test "$(retained mb)" = 0
head -c $((16 << 20)) /dev/urandom >/tmp/input
for n in 0 1 2 3; do
	check "MiB $n is written" part $n
	kill_brick
	check "the brick loses its power and is back" another_boot
	check "it serves" serve_brick
	check "the disk is up again" wait_for $LONG_S state_is up
	check "nothing is lost" has_parts $((n + 1))
done
check "zeroes are written" xfs_io -d -c "fzero 0 1m" "$DISK"
kill_brick
check "the brick is killed once more" serve_brick
check "the disk is up again" wait_for $LONG_S state_is up
check "they are there" cmp -n 1048576 /dev/zero "$DISK"
check "fsync sends nothing" posts 0 0 0 0 dd if=/dev/null of="$DISK" \
	conv=notrunc,fsync
check "a brick that has no such writes serves" \
	restart_brick brickd "lease-ms = 600000" "persistence = assume-readback"
check "the disk does not take what would need flushes" wait_for $LONG_S \
	grep -q "another one than before" "$CTL/last_error"
check "it waits for the brick that it knows" state_is connecting
check "which comes back" restart_brick brickd "lease-ms = 600000"
check "the disk is up again" wait_for $LONG_S state_is up
check "it is detached" detach_disk
same_boot
disk_end
