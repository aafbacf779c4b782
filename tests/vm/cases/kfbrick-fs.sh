# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# ext4 and XFS on a disk: a tree of thousands of files, detached and attached.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# NVDIMM: 672M persist=mem-ctrl
# MEM: 2G
# ALLOW: XFS .*: Deprecated|noquota
# TIMEOUT: 1500

FILES=5200

# The guest's own files in many folders, with what each has of its own.
make_tree() { # make_tree FOLDER
	mkdir -p "$1" && cd "$1" || return
	awk -v n=$FILES 'BEGIN { for (i = 0; i < n; i++) {
		f = sprintf("d%02d/s%d", i % 52, int(i / 1000))
		if (!(f in made)) { made[f] = 1; system("mkdir -p " f) }
		p = f "/file" i
		for (j = 0; j < i % 40; j++)
			printf "%d line %d of file %d\n", i * j, j, i > p
		printf "end of %d\n", i > p
		close(p)
	} }'
	cp -a /bin/busybox /bin/brickd /bin/brickctl .
	cd /
}

sums() { # sums FOLDER
	(cd "$1" && find . -type f | sort | xargs sha256sum)
}

check_fs() { # check_fs FS: without repairing anything
	case $1 in
	ext4) fsck.ext4 -f -n "$DISK" ;;
	xfs) xfs_repair -n "$DISK" ;;
	esac
}

make_fs() {
	case $1 in
	ext4) mkfs.ext4 -q -F "$DISK" ;;
	xfs) mkfs.xfs -q -f -K "$DISK" ;;
	esac
}

with_fs() { # with_fs FS OPTION...: of attach
	fs=$1
	shift
	check "$fs: a disk is attached" attach_disk --size 320M "$@" || return
	check "$fs: mkfs" make_fs "$fs"
	check "$fs: mount" mount -t "$fs" "$DISK" /mnt || return
	check "$fs: $FILES files are copied" cp -a /tree /mnt/tree
	check "$fs: there are as many" \
		test "$(find /mnt/tree -type f | wc -l)" -ge $FILES
	check "$fs: umount" umount /mnt
	check "$fs: detach" detach_disk
	check "$fs: attach" attach_disk --size 320M "$@"
	check "$fs: it is clean" check_fs "$fs"
	check "$fs: mount" mount -t "$fs" "$DISK" /mnt
	sums /mnt/tree >/tmp/sums.$fs
	check "$fs: every file is what it was" cmp /tmp/sums /tmp/sums.$fs
	check "$fs: umount" umount /mnt
	check "$fs: detach" detach_disk
	ctl free 0x0+320M
}

disk_setup
modprobe -q ext4
modprobe -q xfs
mkdir -p /mnt
make_tree /tree
sums /tree >/tmp/sums
check "the tree has $FILES files" test "$(wc -l </tmp/sums)" -ge $FILES
with_fs ext4 --queues 2
with_fs xfs --thin --queues 4
disk_end
