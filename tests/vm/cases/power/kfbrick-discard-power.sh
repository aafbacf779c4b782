# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A brick that loses its power while a thin disk frees a block: what was written to
# the block beside it, which is unmapped with it and mapped again, and was flushed
# for that, is not reverted by copies that are written once more.
# tests/vm/mutants/disk has the driver pause where the power fails.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200
KIB=16

# Blocks 0 and 1 have one handle, block 2 another: somebody has the memory between.
lay_out() {
	ctl alloc 0x0+2 && other alloc 0x40000000+1 && ctl alloc 0x400000+1
}

put() { # put FILE BLOCK: direct, not flushed
	dd if="$1" of="$DISK" bs=${KIB}k count=1 seek=$(($2 * 2048 / KIB)) \
		oflag=direct conv=notrunc 2>/tmp/dd.err
}

holds() { # holds FILE BLOCK
	dd if="$DISK" bs=${KIB}k count=1 skip=$(($2 * 2048 / KIB)) \
		iflag=direct 2>/dev/null | cmp - "$1"
}

# Its completion is late: its copy is the oldest for as long.
begin_write() {
	_late=$(fault_count delayed)
	echo 8000 >"$FAULT/delay_ms"
	echo 1000 >"$FAULT/delay_permille"
	put /tmp/other 2 &
	WRITER=$!
	wait_for $LONG_S fault_count_above delayed "$_late"
	_begun=$?
	echo 0 >"$FAULT/delay_permille"
	return $_begun
}

begin_discard() { # and see that it has flushed
	_flushes=$(counter messages)
	blkdiscard -o 0 -l 2M "$DISK" &
	DISCARD=$!
	wait_for $LONG_S counter_above messages "$_flushes"
}

# What is written once more has arrived in part when its key is revoked.
fail_power_again() {
	echo 500 >"$FAULT/drain_permille"
	fail_power
}

fault_setup power=1
disk_setup "lease-ms = 600000"
for name in older newer other; do
	head -c $((KIB << 10)) /dev/urandom >/tmp/$name
done
check "blocks are allocated" lay_out
check "a thin disk is attached" attach_disk --size 8M --thin --queues 2 \
	--reconnect-s 600 --retain-mb 8 --provider 'fault;verbs' || exit
check "a write to block 2 is begun" begin_write
check "block 1 is written" put /tmp/older 1
check "and written again" put /tmp/newer 1
check "there are copies of both" test "$(retained copies)" -eq 3
check "block 0 is discarded" begin_discard
check "the write is over" wait $WRITER
check "the power fails" fail_power_again
check "the disk is up again" wait_for $LONG_S state_is up
check "the discard is over" wait $DISCARD
check "what was not flushed was written again" holds /tmp/other 2
check "block 1 is not reverted" holds /tmp/newer 1
check "a flush is good" xfs_io -c fsync "$DISK"
check "it is not reverted then, either" holds /tmp/newer 1
check "block 0 is free" allocated 3
check "the disk is detached" detach_disk
same_boot
fault_end disk_end
