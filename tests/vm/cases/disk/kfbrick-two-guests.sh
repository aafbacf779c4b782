# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# ext4 and XFS over the wire: written in one guest, read in the other, and back.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# GUESTS: 2
# NVDIMM: 416M persist=mem-ctrl
# MEM: 1G
# ALLOW: XFS .*: Deprecated|noquota
# TIMEOUT: 1200

LONG_S=200
BRICK_IP=$SERVER_IP
FILES=5000
FILE_SYSTEMS="ext4 xfs"
SIZE=320M # what XFS needs at least

load() {
	modprobe kfabric_verbs && modprobe kfbrick
}

same_tree() { # same_tree FOLDER: as make_tree makes it
	[ -s /tmp/sums.want ] || {
		make_tree /tmp/tree $FILES && tree_sums /tmp/tree >/tmp/sums.want
	}
	tree_sums "$1" >/tmp/sums.got && cmp /tmp/sums.want /tmp/sums.got
}

read_there() { # read_there FS: what the client has written, and one file more
	check "$1: the client has written" wait_peer "written-$1" $LONG_S ||
		return
	check "$1: the disk is attached here" attach_disk --size $SIZE
	check "$1: the file system is clean" check_fs "$1"
	check "$1: it is mounted" mount -t "$1" "$DISK" /mnt
	check "$1: all $FILES files are the same" same_tree /mnt/tree
	check "$1: one more is written" cp /bin/brickd /mnt/more
	check "$1: it is unmounted" umount /mnt
	check "$1: it is detached" detach_disk
	announce "more-$1"
	check "$1: the client has read it" wait_peer "read-$1" $LONG_S
}

write_here() { # write_here FS: a tree; then read what the server has added
	check "$1: a disk is attached over the wire" attach_disk --size $SIZE
	check "$1: the file system is made" make_fs "$1"
	check "$1: it is mounted" mount -t "$1" "$DISK" /mnt
	check "$1: $FILES files are written" make_tree /mnt/tree $FILES
	check "$1: it is unmounted" umount /mnt
	check "$1: while it is attached it is not attached again" \
		says "has blocks of this range already" ctl attach --size $SIZE
	check "$1: it is detached" detach_disk
	announce "written-$1"
	check "$1: the other guest has had it" wait_peer "more-$1" $LONG_S ||
		return
	check "$1: it is attached again" attach_disk --size $SIZE
	check "$1: it is clean" check_fs "$1"
	check "$1: it is mounted" mount -t "$1" "$DISK" /mnt
	check "$1: the new file is what it should be" cmp /bin/brickd /mnt/more
	check "$1: it is unmounted" umount /mnt
	check "$1: it is detached" detach_disk
	announce "read-$1"
}

server() {
	dax=$(devdax_setup) || bail "a devdax namespace can be made"
	configure_brick "$dax" "$BRICK_IP"
	check "devdax is formatted" brickd format "$dax" --force
	check "brickd serves it" serve_brick || diag "$(cat $BRICK_LOG)"
	announce serving
	check "the driver loads here, too" load
	for fs in $FILE_SYSTEMS; do
		read_there "$fs"
	done
	check "the driver unloads" rmmod kfbrick
	check "brickd stops" stop_brick
}

client() {
	check "brickd serves" wait_peer serving $LONG_S || return
	check "the driver loads" load
	for fs in $FILE_SYSTEMS; do
		write_here "$fs"
	done
	check "the driver unloads" rmmod kfbrick
}

modprobe -q ext4
modprobe -q xfs
mkdir -p /mnt
check "the wire is up" net_setup || exit
check "soft RoCE starts on eth0" rxe_setup rxe0 eth0 || exit
make_key
check "the guests meet" meet up $LONG_S || exit
$ROLE
check "the guests part" meet bye $LONG_S
