# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A disk over TCP on a store of which pages cannot be had, as its file system is full:
# what asks for them ends with an error of the medium, and nothing else does.
# KFB_LEASE_MS: 0: each loss of all connections ends the session.
# NEEDS: base fs block
# KO: kfabric_core kfabric_tcp kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# MEM: 2G
# TIMEOUT: 400

use_carrier tcp
FOLDER=/mnt # a small file system
BLOCKS=12

missing_setup() {
	BRICK_IP=127.0.0.1
	modprobe -a loop ext4 && truncate -s 40M /tmp/image || return
	_loop=$(losetup -f) && losetup "$_loop" /tmp/image || return
	mkfs.ext4 -q -b 4096 -m 0 -O ^has_journal "$_loop" &&
		mount -t ext4 "$_loop" $FOLDER || return
	carrier_setup none && make_key || return
	configure_brick $FOLDER/store "$BRICK_IP" "lease-ms = ${KFB_LEASE_MS:-5000}"
	brickd format $FOLDER/store --size 30M
}

take_room() { # of all slots but those with data
	for _slot in $(seq 1 14); do
		dd if=$FOLDER/store bs=2M skip="$_slot" count=1 2>/dev/null |
			head -c 4096 | cmp -s - /tmp/zeroes || continue
		xfs_io -c "fpunch $((_slot * 2))m 2m" $FOLDER/store || return
	done
	# What was reserved for what comes is free again when that is written.
	for _n in 1 2 3 4 5; do
		dd if=/dev/zero of=$FOLDER/filler$_n bs=4k 2>/dev/null
		sync
	done
	[ "$(df -k $FOLDER | awk 'END { print $4 }')" -lt 8 ]
}

write_at() { # write_at BLOCK [PAGES]: at the beginning of it
	dd if=/tmp/input of="$DISK" bs=4k seek=$(($1 * 512)) count="${2:-1}" \
		oflag=direct conv=notrunc
}

holds() { # holds BLOCK: what was written to it
	dd if="$DISK" of=/tmp/output bs=64k skip=$(($1 * 32)) count=1 \
		iflag=direct && head -c 65536 /tmp/input | cmp - /tmp/output
}

all_hold() {
	for _block in 0 1 2 3; do
		holds $_block || return
	done
}

write_all() { # and flushes
	for _block in 0 1 2 3; do
		write_at $_block 16 || return
	done
	xfs_io -c fsync "$DISK"
}

fails() { # fails COMMAND...: and does not wait for ever
	"$@" &
	_pid=$!
	wait_for 60 is_over $_pid && ! wait $_pid
}

is_medium_error() { # is_medium_error BLOCK: the block layer says what kind it was
	case_log | grep -q \
		"critical medium error, dev ${DISK#/dev/}, sector $(($1 * 4096)) "
}

is_same_brick() {
	! is_over "$BRICKD"
}

check "a store in a small file system" missing_setup || exit
modprobe kfbrick || bail "the driver loads"
check "brickd serves it" serve_brick || exit
head -c $((1 << 20)) /dev/urandom >/tmp/input
head -c 4096 /dev/zero >/tmp/zeroes
check "a disk is attached over tcp" attach_disk --base 0x0 --size $BLOCKS \
	--queues 2 || exit
check "some blocks are written" write_all
check "all others lose their room, and the file system is full" take_room

check "a write of 4 KiB to where there is no room fails" fails write_at 8 || exit
check "it is an error of the medium" is_medium_error 8
check "brickd lives" is_same_brick
check "it says where that was" \
	grep -q "the medium failed in slot .* block at 0x1000000 " $BRICK_LOG
check "the disk is up" wait_for 60 state_is up
check "a long one fails" fails write_at 9 256 || exit
check "it is an error of the medium" is_medium_error 9
check "brickd lives" is_same_brick
check "the disk is up" wait_for 60 state_is up
check "all other blocks are there" all_hold
check "and are written" write_all

check "it is detached" detach_disk
check "with one queue it is attached again" attach_disk --base 0x0 \
	--size $BLOCKS --queues 1 || exit
check "a write fails where all connections end with it" fails write_at 10 || exit
check "it is an error of the medium" is_medium_error 10
check "brickd lives" is_same_brick
check "the disk is up" wait_for 60 state_is up

check "there is room again" rm $FOLDER/filler?
check "it is written" write_at 8 16
check "and flushed" xfs_io -c fsync "$DISK"
check "and read" holds 8
check "it is detached" detach_disk
check "brickd stops" stop_brick
rmmod kfbrick kfabric_tcp
umount $FOLDER
