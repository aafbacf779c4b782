# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A disk that maps an eighth of its blocks at a time, and one that maps a single
# one: what is written is what is read, whatever had to go for it. KFB_PARTS: some
# of its parts, by name; KFB_FIO_S: seconds of each run of fio.
# NEEDS: rdma nvdimm fio fs
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 1500

LONG_S=200
SECONDS_EACH=${KFB_FIO_S:-12}
BLOCKS=64

fio_here() { # fio_here NAME OPTION...
	fio_verify "$SECONDS_EACH" $((BLOCKS * 2)) "$@"
}

grew() { # grew NAME VALUE: it is more than that now
	[ "$(cached "$1")" -gt "$2" ]
}

block() { # block read|write N: some KiB of it
	case $1 in
	read) dd if="$DISK" of=/dev/null bs=64k count=1 skip=$(($2 * 32)) \
		iflag=direct ;;
	write) dd if=/tmp/input of="$DISK" bs=64k count=1 seek=$(($2 * 32)) \
		oflag=direct conv=notrunc ;;
	esac
}

# ---- an eighth

eighth() {
	check "a disk with an eighth mapped is attached" attach_disk \
		--size $BLOCKS --queues 2 --map-cache $((BLOCKS / 8)) || exit
	check "hardly anything is mapped yet" test "$(cached mapped)" -le 1
	check "its blocks are allocated" allocated $BLOCKS
	check "fio finds no error: random" fio_here random \
		--bs=4k --iodepth=16 --rw=randrw --fsync=32
	check "as many are mapped as may be" mapped_is $((BLOCKS / 8))
	check "others went for them" grew evictions $((BLOCKS / 8))
	check "fio finds no error: in a row, large" fio_here row \
		--bs=256k --iodepth=8 --rw=rw
	_ahead=$(cached prefetches) _used=$(cached prefetch_hits)
	check "it is read from end to end" dd if="$DISK" of=/dev/null \
		bs=1M iflag=direct
	check "blocks were mapped in advance" grew prefetches "$_ahead"
	check "and used" grew prefetch_hits "$_used"
	check "zeroes are written to three blocks" \
		xfs_io -c "fpunch 8m 6m" "$DISK"
	check "they stay allocated" allocated $BLOCKS
	check "and are zero" eval 'dd if="$DISK" bs=1M skip=8 count=6 \
		iflag=direct 2>/dev/null | tr -d "\000" | wc -c |
		grep -q "^0$"'
	diag "$(cat "$CTL/map_cache")"
	check "it is detached" detach_disk
}

thin_eighth() {
	ctl free 0x0+$BLOCKS >/dev/null
	check "a thin one is attached" attach_disk --size $BLOCKS --queues 3 \
		--thin --map-cache $((BLOCKS / 8)) || exit
	check "fio finds no error: writes and trims" fio_here trim \
		--bs=4k --iodepth=16 --rw=randtrimwrite
	check "all is written" dd if=/tmp/input of="$DISK" bs=1M \
		count=$((BLOCKS * 2)) oflag=direct conv=notrunc
	check "that is every block" allocated $BLOCKS
	check "eight mapped and other blocks are discarded" \
		blkdiscard -o $((4 << 20)) -l $((100 << 20)) "$DISK"
	check "fifty are freed" allocated $((BLOCKS - 50))
	check "what was not discarded is there" eval 'dd if="$DISK" bs=1M \
		skip=104 iflag=direct 2>/dev/null | cmp - /tmp/rest'
	check "it grows" brickctl attach --resize "$DISK" --size $((BLOCKS + 8))
	check "what is new is written" block write $((BLOCKS + 7))
	check "and read" block read $((BLOCKS + 7))
	check "it is detached" detach_disk
	ctl free 0x0+$((BLOCKS + 8)) >/dev/null
}

# ---- a single one

single() {
	check "a disk with one block mapped is attached" attach_disk \
		--size 16 --queues 2 --map-cache 1 --retain-mb 4 || exit
	check "many at a time get their turn" fio --name=one \
		--filename="$DISK" --ioengine=libaio --direct=1 --bs=64k \
		--iodepth=32 --rw=randrw --size=32M --io_size=16M \
		--verify=crc32c --verify_fatal=1 --randseed=3
	check "one is mapped" mapped_is 1
	check "a block is written" block write 3
	check "then another" block write 4
	_messages=$(counter messages)
	check "which is read again: nothing is to be flushed for that" \
		block read 5
	check "there was a flush for the one before" \
		test "$(counter messages)" -gt "$_messages"
	_messages=$(counter messages)
	check "another is read" block read 6
	check "without a flush" test "$(counter messages)" -eq "$_messages"
	check "the brick is killed" kill_brick
	check "it serves again" serve_brick
	check "the disk is up again" wait_for $LONG_S state_is up
	check "what was written is there" eval 'dd if="$DISK" bs=64k count=1 \
		skip=$((4 * 32)) iflag=direct | cmp -n 65536 - /tmp/input'
	check "it is detached" detach_disk
}

disk_setup "lease-ms = 60000"
head -c $((BLOCKS << 21)) /dev/urandom >/tmp/input
tail -c $(((BLOCKS * 2 - 104) << 20)) /tmp/input >/tmp/rest
for part in ${KFB_PARTS:-eighth thin_eighth single}; do
	$part
done
disk_end
