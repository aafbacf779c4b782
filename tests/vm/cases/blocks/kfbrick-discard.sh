# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A thin disk frees a block while a write to the block beside it is under way, which
# shares its handle: the discard waits for the write, and flushes it, before it gives
# the handle back.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 600

LONG_S=200
HELD_MS=8000

# Its completion is late, as often as there is one.
begin_write() {
	_late=$(fault_count delayed)
	echo $HELD_MS >"$FAULT/delay_ms"
	echo 1000 >"$FAULT/delay_permille"
	dd if=/tmp/data of="$DISK" bs=16k count=1 seek=128 oflag=direct \
		conv=notrunc 2>/tmp/dd.err &
	WRITER=$!
	wait_for $LONG_S fault_count_above delayed "$_late"
	_begun=$?
	echo 0 >"$FAULT/delay_permille"
	return $_begun
}

holds() {
	dd if="$DISK" bs=16k count=1 skip=128 iflag=direct 2>/dev/null |
		cmp - /tmp/data
}

fault_setup
disk_setup "lease-ms = 600000"
head -c 16384 /dev/urandom >/tmp/data
# One handle has both.
check "two blocks are allocated" ctl alloc 0x0+2
check "a thin disk is attached" attach_disk --size 8M --thin --queues 1 \
	--reconnect-s 600 --retain-mb 8 --provider 'fault;verbs' || exit
check "a write to block 1 is begun" begin_write
blkdiscard -o 0 -l 2M "$DISK" &
DISCARD=$!
check "the write is over" wait $WRITER
check "the discard is over" wait $DISCARD
check "the write was flushed by it" test "$(retained copies)" -eq 0
check "block 0 is free" allocated 1
check "block 1 has what was written" holds
check "a flush is good" xfs_io -c fsync "$DISK"
check "the disk is up" state_is up
check "it is detached" detach_disk
same_boot
fault_end disk_end
