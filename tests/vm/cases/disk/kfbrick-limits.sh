# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What a disk says of its best I/O serves: reading ahead does not outgrow a fault,
# a block is the most of a request, partitions begin on 2 MiB; a disk that has failed for good
# says so in a way that a file system gives up on; and a clear that takes long leaves
# requests to others. KFB_PARTS: some of its parts, by name.
# NEEDS: rdma nvdimm fs python
# KO: kfabric_core kfabric_verbs kfbrick kfi_probe
# BIN: brickd brickctl
# PACKAGES: fdisk
# PROGRAMS: sfdisk
# NVDIMM: 384M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200

q() { # q NAME: of the disk's queue
	cat "/sys/block/${DISK#/dev/}/queue/$1"
}

read_sectors() { # so many, of 512 bytes
	awk '{ print $3 }' "/sys/block/${DISK#/dev/}/stat"
}

fault_here_and_there() { # eight single bytes of a mapping, far from each other
	echo 3 >/proc/sys/vm/drop_caches
	python3 -c 'import mmap, sys
f = open(sys.argv[1], "rb")
m = mmap.mmap(f.fileno(), 64 << 20, prot=mmap.PROT_READ)
print(sum(m[(n * 7 + 3) << 20] for n in range(8)))' "$DISK"
}

reads_at_most() { # reads_at_most BYTES COMMAND...
	_most=$1
	shift
	_was=$(read_sectors)
	"$@" || return
	_read=$((($(read_sectors) - _was) << 9))
	echo "$_read bytes were read"
	[ $_read -le "$_most" ]
}

limits() {
	check "a disk is attached" attach_disk --size 64M --queues 2 || exit
	check "a request is at most a chunk, and by default as much" test \
		"$(q max_sectors_kb) $(q max_hw_sectors_kb) $(q chunk_sectors)" = \
		"2048 2048 4096"
	check "the best unit is a block" test "$(q optimal_io_size)" -eq $((2 << 20))
	check "a clear is a block at a time" test \
		"$(q write_zeroes_max_bytes)" -eq $((2 << 20))
	check "eight faults read no more than on other disks" \
		reads_at_most $((1 << 20)) fault_here_and_there
	check "a partition begins on a block" eval \
		'echo "label: gpt" | sfdisk -q "$DISK" && echo "size=8M" | sfdisk -q -a "$DISK" &&
		grep -qx 4096 /sys/block/${DISK#/dev/}/${DISK#/dev/}p1/start' ||
		diag "$(sfdisk -d "$DISK")"
	check "it is detached" detach_disk
}

# Writing back what is dirty is all that goes to the disk until it is unmounted.
has_shut_down() {
	case_log | grep -q "XFS (${DISK#/dev/}).*[Ss]hut.*down"
}

fails_for_good() { # mkfs.xfs makes none below 300 MiB
	check "a disk is attached for a file system" attach_disk --size 304M \
		--reconnect-s 2 || return
	modprobe -q xfs
	check "XFS is made and mounted" eval 'make_fs xfs &&
		mkdir -p /mnt && mount -t xfs "$DISK" /mnt' || return
	mkdir /mnt/a /mnt/b
	check "its log is written" xfs_io -c syncfs /mnt
	kill_brick
	check "the disk has failed" wait_for $LONG_S state_is failed
	check "the error is that of a device that is gone" \
		says "No such device" python3 -c 'import mmap, os, sys
f = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
os.preadv(f, [mmap.mmap(-1, 4096)], 0)' "$DISK"
	check "XFS gives up" wait_for $LONG_S has_shut_down ||
		diag "$(dmesg | tail -5)"
	check "it is unmounted" umount /mnt
	check "and the disk detached" detach_disk
	check "brickd serves again" serve_brick
}

alloc_here_and_there() { # a block of each GiB
	for _n in 0 1 2 3 4 5 6 7; do
		xfs_io -d -c "pwrite -q ${_n}g 4k" "$DISK" || return
	done
}

punch_all() {
	xfs_io -c "fpunch 0 8g" "$DISK" &
	PUNCHES=$!
}

# goes_on COMMAND: of xfs_io. Whoever moves a file's position waits for the end of the
# punch, whatever the disk does; and who waits for a tag cannot be killed.
goes_on() {
	xfs_io -d -c "$1" "$DISK" &
	_io=$!
	wait_for 60 is_over $_io && wait $_io
}

# Eight clears wait for the brick's answer, and there are four tags.
clears_leave_tags() {
	check "a thin disk is attached" attach_disk --size 8G --thin \
		--timeout 300 || return
	check "a block in each GiB is written" alloc_here_and_there
	check "a disk has few tags" eval \
		'echo 4 >/sys/block/${DISK#/dev/}/queue/nr_requests'
	probe hold kfbk_free_blocks
	punch_all
	check "all of it is to be cleared, and waits" \
		wait_for $LONG_S probed_above kfbk_free_blocks 0
	check "others read meanwhile" goes_on "pread -q 7g 4k"
	check "and write" goes_on "pwrite -q 7g 4k"
	probe clear
	check "the clear comes to its end" wait "$PUNCHES"
	check "and has freed what was there" eval '[ "$(listed)" -le 1 ]' ||
		diag "$(ctl list)"
	check "it is detached" detach_disk
}

disk_setup
probe_setup
for part in ${KFB_PARTS:-limits fails_for_good clears_leave_tags}; do
	$part
done
probe_end
disk_end
