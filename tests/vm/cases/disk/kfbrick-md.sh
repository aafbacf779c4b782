# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# RAID1 of the kernel over the disks of two bricks. One of them is killed under
# fio, md goes on without it, and copies what it has missed when it is back.
# KFB_KILLS says how often.
# NEEDS: rdma nvdimm fio raid
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# NVDIMM: 96M persist=mem-ctrl
# NVDIMM: 96M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 7200

LONG_S=300
KILLS=${KFB_KILLS:-2}
SIZE_MIB=24
FIO_MIB=16
# In one mapping of the bitmap's.
MISSED_KIB=64

attach_half() { # I/O must end when the brick stays away, or md never knows
	attach_it --size ${SIZE_MIB}M --queues 2 --fail io-error \
		--reconnect-s 10
}

sectors() { # written to this half's disk so far
	awk '{ print $7 }' "/sys/block/${DISK#/dev/}/stat"
}

lose_half() { # this one, while md is written
	kill_brick
	wait_for $LONG_S missing 1
}

# The disk has failed for good, and detaching it says that writes are lost. That
# is md's affair: a new disk has the same bytes.
return_half() {
	mdadm /dev/md0 --remove "$DISK" || return
	detach_disk
	[ ! -e "$DISK" ] && serve_it && attach_half &&
		mdadm /dev/md0 --re-add "$DISK" && wait_for $LONG_S is_whole
}

detail() {
	cat /proc/mdstat "$CTL/state" "$CTL/last_error"
	dmesg | tail -5
}

kills() {
	begin_load /dev/md0 $FIO_MIB
	_i=0
	while [ $_i -lt "$KILLS" ]; do
		_i=$((_i + 1))
		brick $((_i % 2))
		check "kill $_i: brick $BRICK_N is missed" lose_half &&
			check "kill $_i: it is back, and whole" return_half ||
			break
	done
	[ $_i -eq "$KILLS" ] || diag "$(detail)"
	check "fio has found no error" end_load
	diag "fio was run $(cat /tmp/rounds) times"
}

write_missed() {
	dd if=/tmp/missed of=/dev/md0 bs=${MISSED_KIB}k oflag=direct \
		conv=fsync,notrunc
}

# Nothing else is written: what comes to the half is what md copies.
bitmap_resync() {
	brick 1
	check "one half is killed once more" kill_brick
	head -c $((MISSED_KIB << 10)) /dev/urandom >/tmp/missed
	check "it misses a write" write_missed
	check "md knows that it is gone" wait_for $LONG_S missing 1
	check "it is back, and whole" return_half
	_kib=$(($(sectors) / 2))
	check "what it has missed was copied: $_kib KiB, not all" \
		test $_kib -ge $MISSED_KIB -a $_kib -lt $((SIZE_MIB * 256))
}

same_halves() { # the superblock and bitmap are behind the data
	_kib=$size_kib
	for _n in 0 1; do
		brick $_n
		dd if="$DISK" of=/tmp/half$_n bs=1k count=$_kib iflag=fullblock ||
			return
	done
	cmp /tmp/half0 /tmp/half1
}

bricks_setup 2 "lease-ms = 3000"
make_md --bitmap-chunk=64K
kills
check "nothing is being copied" wait_for $LONG_S is_whole
bitmap_resync
echo check >$MD/sync_action
check "md compares them" wait_for $LONG_S is_idle
check "and finds no difference" test "$(cat $MD/mismatch_cnt)" -eq 0
size_kib=$(($(cat /sys/block/md0/size) / 2))
check "it is stopped" stop_md
check "both halves hold the same, byte by byte: $size_kib KiB" same_halves
detach_halves
bricks_end 2
