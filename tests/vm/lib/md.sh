# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# md's RAID1 over the disks of bricks 0 and 1. The case has attach_half, which
# attaches the disk of the brick that is meant, and LONG_S.

MD=/sys/block/md0/md
export MDADM_NO_UDEV=1

make_md() { # make_md OPTION...: of mdadm
	modprobe raid1 || bail "the kernel's RAID1 loads"
	mkdir -p /run/mdadm
	_halves=
	for n in 0 1; do
		brick $n
		check "a disk of brick $n is attached" attach_half || exit
		_halves="$_halves $DISK"
	done
	# shellcheck disable=SC2086 # two words
	check "they become a RAID1 with a bitmap" mdadm --create /dev/md0 --run \
		--level=1 --raid-devices=2 --metadata=1.0 --bitmap=internal \
		"$@" $_halves || exit
	check "both halves are made the same" wait_for $LONG_S is_whole
}

missing() { # missing N: so many halves
	[ "$(cat $MD/degraded)" -eq "$1" ]
}

is_idle() {
	[ "$(cat $MD/sync_action)" = idle ]
}

is_whole() { # and nothing is being copied
	missing 0 && is_idle
}

stop_md() {
	mdadm --stop /dev/md0
}

detach_halves() {
	for n in 0 1; do
		brick $n
		check "the disk of brick $n is detached" detach_disk
	done
}
