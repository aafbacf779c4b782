# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A file system on a disk is frozen, copied by its blocks, and thawed: the copy
# is whole, whoever writes meanwhile waits, and no loss of the brick matters.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200
SIZE_MIB=48
FILES=6000 # 3 MB

same_tree() { # same_tree FOLDER
	tree_sums "$1" >/tmp/sums.got && cmp /tmp/sums /tmp/sums.got
}

append_on_and_on() { # until the file stop is there
	while [ ! -e /tmp/stop ]; do
		echo more >>/mnt/log && sync -f /mnt/log || return
		echo >>/tmp/appended
	done
}

appended_above() { # appended_above N: so often
	[ "$(wc -l </tmp/appended)" -gt "$1" ]
}

copy_blocks() {
	dd if="$DISK" of="$COPY" bs=1M iflag=direct oflag=direct
}

disk_setup "lease-ms = 3000"
modprobe -q ext4
mkdir -p /mnt /copy
make_tree /tree $FILES
tree_sums /tree >/tmp/sums
check "a disk for the copy is attached" attach_disk --base 0x10000000 \
	--size ${SIZE_MIB}M || exit
COPY=$DISK
check "a disk is attached" attach_disk --size ${SIZE_MIB}M --queues 2 \
	--reconnect-s 600 || exit
check "mkfs" mkfs.ext4 -q -F "$DISK"
check "mount" mount -t ext4 "$DISK" /mnt || exit
check "$FILES files are copied" cp -a /tree /mnt/tree
rm -f /tmp/stop
: >/tmp/appended
append_on_and_on &
writer=$!
check "it is being written" wait_for $LONG_S appended_above 2
check "it is frozen" fsfreeze --freeze /mnt
frozen=$(wc -l </tmp/appended)
check "the brick is killed" kill_brick
check "the disk notices" wait_for $LONG_S state_is connecting
check "brickd serves again" serve_brick
check "the disk is up again" wait_for $LONG_S state_is up
check "its blocks are copied" copy_blocks
check "whoever writes still waits" kill -0 $writer
check "at most what was under way was written" \
	test "$(wc -l </tmp/appended)" -le $((frozen + 1))
check "it is thawed" fsfreeze --unfreeze /mnt
check "it is written on" wait_for $LONG_S appended_above $((frozen + 2))
touch /tmp/stop
check "the writer has noticed nothing" wait $writer
check "the copy is clean" fsck.ext4 -f -n "$COPY"
check "it can be mounted" mount -t ext4 -o ro,noload "$COPY" /copy
check "its files are what they were" same_tree /copy/tree
check "umount the copy" umount /copy
check "so are the file system's own" same_tree /mnt/tree
check "umount" umount /mnt
check "it is clean" fsck.ext4 -f -n "$DISK"
check "detach" detach_disk
check "detach the copy" detach_disk "$COPY"
disk_end
