# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A thin disk: what is allocated when, what is freed, and a brick that is full.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

is_zero() { # is_zero OFFSET_MIB MIB
	dd if="$DISK" bs=1M skip="$1" count="$2" iflag=direct 2>/dev/null |
		tr -d '\000' | wc -c | grep -q '^0$'
}

write_mib() { # write_mib OFFSET_MIB MIB
	dd if=/dev/urandom of="$DISK" bs=1M seek="$1" count="$2" \
		oflag=direct conv=notrunc
}

fill_fs() { # write until it is full; what is said goes to /tmp/full
	dd if=/dev/zero of=/mnt/big bs=1M count=300 conv=fsync 2>/tmp/full
}

disk_setup
check "a thin disk larger than the brick is attached" attach_disk \
	--size 512M --thin || exit
check "nothing is allocated" allocated 0
check "it reads as zeros" is_zero 0 64
check "reading allocates nothing" allocated 0
check "one page is written in the middle of a block" \
	dd if=/dev/urandom of="$DISK" bs=4096 count=1 seek=1000 oflag=direct
check "that is one block" allocated 1
check "the rest of the block is zero" is_zero 0 3
check "eight blocks are written" write_mib 16 16
check "that is eight more" allocated 9
# The reader's buffer is full of the block before.
check "what is behind them reads as zeros" eval 'dd if="$DISK" bs=1M skip=31 \
	count=2 iflag=direct 2>/dev/null | tail -c 1048576 | tr -d "\000" |
	wc -c | grep -q "^0$"'
check "a discard of three whole blocks" \
	blkdiscard -o $((16 << 20)) -l $((6 << 20)) "$DISK"
check "frees three" allocated 6
check "they are zero" is_zero 16 6
check_fails "the next is not" is_zero 22 2
check "a discard of parts of two blocks" \
	blkdiscard -o $((23 << 20)) -l $((2 << 20)) "$DISK"
check "frees none" allocated 6
check "freed blocks are written again" write_mib 16 6
check "and are allocated again" allocated 9
dd if="$DISK" bs=1M skip=16 count=16 iflag=direct 2>/dev/null |
	sha256sum >/tmp/sum
check "it is detached" detach_disk
check "the blocks stay" allocated 9
check "it is attached again" attach_disk --size 512M --thin
dd if="$DISK" bs=1M skip=16 count=16 iflag=direct 2>/dev/null |
	sha256sum >/tmp/sum.again
check "and has what it had" cmp /tmp/sum /tmp/sum.again

check "ext4 is made on it" mkfs.ext4 -q -E nodiscard,lazy_itable_init=1 \
	"$DISK"
mkdir -p /mnt
check "it is mounted" mount -t ext4 -o discard "$DISK" /mnt
check_fails "a file larger than the brick is not written" fill_fs
check "that is ENOSPC or what the file system makes of it" \
	grep -qiE 'no space|input/output|i/o' /tmp/full
check "the driver says ENOSPC to the file system" eval \
	'case_log | grep -qiE "critical space allocation|ENOSPC|error -28|lost async page write"'
check "it is unmounted" umount /mnt
check "all of it is discarded" blkdiscard "$DISK"
check "nothing is allocated any more" allocated 0
check "it is detached" detach_disk

# FREE does all or nothing: one that has gone keeps no other.
check "four blocks are allocated" ctl alloc 0x0+4
check "a thin disk that has not mapped them is attached" attach_disk \
	--size 8M --thin --map-cache 8
check "somebody else frees one of them" ctl free 2M+1
check "all are discarded" blkdiscard "$DISK"
check "all are freed" allocated 0
check "it is detached" detach_disk

# What frees a block in the middle takes one mapping more.
check "a brick that allows two mappings serves" restart_brick brickd \
	"max-mappings = 2" || exit
check "seven blocks are allocated" ctl alloc 0x0+7
check "a disk of them is attached" attach_disk --size 16M --thin || exit
check "they are written" write_mib 0 14
check "the second is discarded" blkdiscard -o 2M -l 2M "$DISK"
check "and freed" allocated 6
# Linux takes a discard that is not supported for done.
check "a discard of the fifth" blkdiscard -o 8M -l 2M "$DISK"
check "frees nothing" allocated 6
check_fails "and its bytes are there" is_zero 8 2
check "the last one is discarded" blkdiscard -o 12M -l 2M "$DISK"
check "and freed, because that leaves no more" allocated 5
check "the disk is up" state_is up
check "it is detached" detach_disk
disk_end
