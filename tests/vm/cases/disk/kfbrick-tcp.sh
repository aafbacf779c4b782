# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A disk on a brick over TCP: writes and flushes, a file system, the brick killed.
# NEEDS: base nvdimm fs
# KO: kfabric_core kfabric_tcp kfbrick
# BIN: brickd brickctl
# NVDIMM: 512M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

[ "$CARRIER" != verbs ] || use_carrier tcp
BLOCKS=100

disk_setup
check "a disk is attached over tcp" \
	attach_disk --base 0x0 --size $BLOCKS --queues 2 || exit
check "it is up" grep -qx up "$CTL/state"
_queue=/sys/block/${DISK#/dev/}/queue
check "as many pages as the largest request has may lie apart" test \
	$(($(cat "$_queue/max_segments") * 4)) -ge "$(cat "$_queue/max_sectors_kb")"
head -c $((64 << 20)) /dev/urandom >/tmp/input
check "64 MiB are written and flushed" \
	dd if=/tmp/input of="$DISK" bs=1M oflag=direct conv=fsync
if [ "$CARRIER" = tcp ]; then
	check "no flush was needed" test "$(counter messages)" -eq 0
else
	check "the flush was by message" test "$(counter messages)" -ge 1
fi
check "they are read" dd if="$DISK" of=/tmp/output bs=1M count=64 iflag=direct
check "what was written is what is read" cmp /tmp/input /tmp/output
check "small requests of odd sizes are written" \
	dd if=/tmp/input of="$DISK" bs=12k count=100 seek=7 oflag=direct
dd if=/tmp/input of=/tmp/output bs=12k count=100 seek=7 conv=notrunc 2>/dev/null
dd if="$DISK" of=/tmp/again bs=1M count=64 iflag=direct
check "and read" cmp /tmp/output /tmp/again
check "it is detached" detach_disk
check "the brick has what was written" \
	ctl read 0x0 --length $((64 << 20)) -o /tmp/brick-output
check "byte for byte" cmp /tmp/output /tmp/brick-output
disk_end
check "the tcp provider unloads" rmmod kfabric_tcp
