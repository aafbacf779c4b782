# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A disk over the wire: written in one guest, read in the other, and back.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# GUESTS: 2
# NVDIMM: 416M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 900

LONG_S=200
BRICK_IP=$SERVER_IP
FILES=5000

load() {
	modprobe kfabric_verbs && modprobe kfbrick
}

make_tree() { # make_tree FOLDER: the same in both guests
	awk -v n=$FILES -v top="$1" 'BEGIN { for (i = 0; i < n; i++) {
		f = top "/d" i % 50
		if (!(f in made)) { made[f] = 1; system("mkdir -p " f) }
		p = f "/file" i
		for (j = 0; j < i % 40; j++)
			printf "%d line %d of file %d\n", i * j, j, i > p
		printf "end of %d\n", i > p
		close(p)
	} }'
}

sums() { # sums FOLDER
	(cd "$1" && find . -type f | sort | xargs sha256sum)
}

same_tree() { # same_tree FOLDER: as make_tree makes it
	make_tree /tmp/tree && sums /tmp/tree >/tmp/sums.want &&
		sums "$1" >/tmp/sums.got && cmp /tmp/sums.want /tmp/sums.got
}

server() {
	dax=$(devdax_setup) || bail "a devdax namespace can be made"
	configure_brick "$dax" "$BRICK_IP"
	check "devdax is formatted" brickd format "$dax" --force
	check "brickd serves it" serve_brick || diag "$(cat $BRICK_LOG)"
	announce serving
	check "the client has written" wait_peer written $LONG_S || return
	check "the driver loads here, too" load
	check "the disk is attached here" attach_disk --size 256M
	check "the file system is clean" fsck.ext4 -f -n "$DISK"
	check "it is mounted" mount -t ext4 "$DISK" /mnt
	check "all $FILES files are the same" same_tree /mnt/tree
	check "one more is written" cp /bin/brickd /mnt/more
	check "it is unmounted" umount /mnt
	check "it is detached" detach_disk
	announce more
	check "the client has read it" wait_peer read $LONG_S
	check "the driver unloads" rmmod kfbrick
	check "brickd stops" stop_brick
}

client() {
	check "brickd serves" wait_peer serving $LONG_S || return
	check "the driver loads" load
	check "a disk is attached over the wire" attach_disk --size 256M
	check "ext4 is made on it" mkfs.ext4 -q -F "$DISK"
	check "it is mounted" mount -t ext4 "$DISK" /mnt
	check "$FILES files are written" make_tree /mnt/tree
	check "it is unmounted" umount /mnt
	check "while it is attached nobody else gets it" \
		says "somebody else" ctl attach --size 256M
	check "it is detached" detach_disk
	announce written
	check "the other guest has had it" wait_peer more $LONG_S || return
	check "it is attached again" attach_disk --size 256M
	check "it is mounted" mount -t ext4 "$DISK" /mnt
	check "the new file is what it should be" cmp /bin/brickd /mnt/more
	check "it is unmounted" umount /mnt
	check "it is detached" detach_disk
	check "the driver unloads" rmmod kfbrick
	announce read
}

modprobe -q ext4
mkdir -p /mnt
check "the wire is up" net_setup || exit
check "soft RoCE starts on eth0" rxe_setup rxe0 eth0 || exit
make_key
check "the guests meet" meet up $LONG_S || exit
$ROLE
check "the guests part" meet bye $LONG_S
