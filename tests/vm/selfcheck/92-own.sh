# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A case of one's own names what it needs: programs of Debian's packages, a folder
# to be copied, one to be shared, and disks.
# PACKAGES: file libmagic1 tree
# PROGRAMS: file tree
# TREE: own
# SHARE: own
# DISK: 8M
# DISK: 1G
disks() {
	for _disk in /sys/block/vd?; do
		echo "$(cat "$_disk/serial") $(cat "$_disk/size")"
	done | sort | tr '\n' ' '
}

check "programs of packages run, with their libraries" tree --version
check "so does another one" file --version
check "a tree is there" grep -q tree /vm/tree/word
check "a folder is shared" cmp /vm/tree/word /vm/share/word
check "disks are there" test "$(disks)" = "more0 16384 more1 2097152 "
check "they can be written" dd if=/dev/zero of=/dev/vdb bs=1M count=2
