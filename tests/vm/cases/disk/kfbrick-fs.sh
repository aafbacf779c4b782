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
	tree_sums /mnt/tree >/tmp/sums.$fs
	check "$fs: every file is what it was" cmp /tmp/sums /tmp/sums.$fs
	check "$fs: umount" umount /mnt
	check "$fs: detach" detach_disk
	ctl free 0x0+320M
}

disk_setup
modprobe -q ext4
modprobe -q xfs
mkdir -p /mnt
make_tree /tree $FILES
cp -a /bin/busybox /bin/brickd /bin/brickctl /tree
tree_sums /tree >/tmp/sums
check "the tree has $FILES files" test "$(wc -l </tmp/sums)" -ge $FILES
with_fs ext4 --queues 2
with_fs xfs --thin --queues 4
disk_end
