# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Disks as a system knows disks: found by UUID, label, partition and name, with a
# serial number; LVM and md put themselves together on them; fstab mounts all three
# by UUID= at the next boot. While the brick is away nothing of that is lost.
# ROOT: systemd
# BOOTS: 2
# NEEDS: raid lvm
# KO: kfabric_core kfabric_tcp kfbrick
# MEM: 2G
# TIMEOUT: 900

LONG_S=200
UUIDS=/var/lib/kfbrick-uuids
SUMS=/var/lib/kfbrick.sums
FS="data volume mirror"

logs() {
	systemctl --no-pager --failed
	journalctl --no-pager -o cat -u brickd -u 'kfbrick@*' -u 'lvm-activate-*' \
		-u data.mount -u volume.mount -u mirror.mount | tail -40
	ls -l /dev/kfbrick /dev/disk/by-* 2>&1
	lsblk -o NAME,FSTYPE,UUID,MOUNTPOINT
}

add_disk() { # add_disk NAME BASE: of 64 MiB, by its unit
	cat >/etc/kfbrick/attach.d/"$1".conf <<-END
		brick = tcp://127.0.0.1
		client = example
		key-file = $(shipped_key)
		base = $2
		size = 64M
	END
	systemctl enable --now "kfbrick@$1"
}

node() { # node NAME: kfbrickN
	basename "$(readlink -f "/dev/kfbrick/$1")"
}

property() { # property NAME PROPERTY: what udev knows of a disk
	udevadm info -q property "/dev/kfbrick/$1" | sed -n "s/^$2=//p"
}

make_fs() { # make_fs DEVICE MOUNT
	mkfs.ext4 -q -F -L "of-$2" "$1" || return
	_uuid=$(blkid -p -s UUID -o value "$1") && mkdir -p "/$2" || return
	echo "$2 $_uuid" >>$UUIDS
	echo "UUID=$_uuid /$2 ext4 _netdev,x-systemd.device-timeout=5min 0 0" \
		>>/etc/fstab
}

uuid_of() { # uuid_of MOUNT
	sed -n "s/^$1 //p" $UUIDS
}

all_by_uuid() {
	for _fs in $FS; do
		test -b "/dev/disk/by-uuid/$(uuid_of "$_fs")" || return
	done
}

are_mounted() {
	for _fs in $FS; do
		[ "$(findmnt -n -o UUID "/$_fs")" = "$(uuid_of "$_fs")" ] || return
	done
}

state_of() { # state_of NAME STATE
	[ "$(cat "/sys/block/$(node "$1")/kfbrick/state")" = "$2" ]
}

names_are_there() {
	check "$1: names by UUID are there" wait_for $LONG_S all_by_uuid
	check "$1: and by label, partition, and the unit's name" sh -ec '
		test -b /dev/disk/by-label/of-data
		test -b /dev/disk/by-partlabel/kfpart
		test -b /dev/disk/by-partuuid/$0
		test -b /dev/kfbrick/data-part1' "$(property data-part1 ID_PART_ENTRY_UUID)" ||
		diag "$(logs)"
}

make_all() {
	check "the units attach four disks" eval 'add_disk data 0x0 &&
		add_disk pv 64M && add_disk half0 128M && add_disk half1 192M' ||
		bail "$(logs)"
	check "they have their units' names" wait_for $LONG_S eval \
		'test -b /dev/kfbrick/data && test -b /dev/kfbrick/half1' ||
		bail "$(logs)"
	check "brickctl says which" sh -c 'brickctl attached --json | grep -q "\"name\": *\"half0\""'
	check_fails "a name is given once" brickctl --client example --key-file \
		"$(shipped_key)" attach tcp://127.0.0.1 --base 512M --size 2M --name data
	check "a model and a serial number" test \
		"$(property data ID_MODEL) $(property data ID_SERIAL_SHORT)" = \
		"kfbrick $(cat "/sys/block/$(node data)/kfbrick/brick_uuid")-0x0"
	check "lsblk shows it" test "$(lsblk -dno SERIAL /dev/kfbrick/data)" = \
		"$(property data ID_SERIAL_SHORT)"
	check "the way's length is not taken for writes that stand in line" \
		grep -qx 75000 "/sys/block/$(node data)/queue/wbt_lat_usec"
	check "a partition is made" sh -c 'printf "label: gpt\nsize=32M, name=kfpart\n" |
		sfdisk -q /dev/kfbrick/data'
	check "it has a name" wait_for $LONG_S test -b /dev/kfbrick/data-part1
	check "it begins on 2 MiB" test \
		"$(cat "/sys/class/block/$(node data-part1)/start")" -eq 4096
	check "a file system on it" make_fs /dev/kfbrick/data-part1 data
	check "a volume of LVM" eval 'vgcreate -qq fast /dev/kfbrick/pv &&
		lvcreate -qq -y -L 32M -n volume fast' || diag "$(logs)"
	check "a file system on it" make_fs /dev/fast/volume volume
	check "a mirror" sh -c 'yes | mdadm --create /dev/md/mirror --level 1 \
		--raid-devices 2 --metadata 1.2 /dev/kfbrick/half0 /dev/kfbrick/half1'
	check "a file system on it" make_fs /dev/md/mirror mirror
	# That they were closed tells udev to look again.
	names_are_there "at once"
	systemctl daemon-reload
	check "all are mounted" mount -a || diag "$(logs)"
	for _fs in $FS; do
		dd if=/dev/urandom of=/"$_fs"/file bs=64k count=32 conv=fsync 2>/dev/null
	done
	sha256sum /data/file /volume/file /mirror/file >$SUMS
}

is_quiet() {
	udevadm settle --timeout=60
}

# A look at a disk would wait for the brick, and one that fails would forget it.
without_the_brick() {
	systemctl stop brickd
	check "the brick is away" wait_for $LONG_S state_of data connecting
	udevadm trigger --action=change "/dev/$(node data)" "/dev/$(node data-part1)" \
		"/dev/$(node pv)" "/dev/$(node half0)"
	check "udev waits for nobody" is_quiet
	check "it knows what is on them" test "$(property data-part1 ID_FS_UUID)" = \
		"$(uuid_of data)"
	names_are_there "without the brick"
	systemctl start brickd
	check "it is back" wait_for $LONG_S state_of data up
	check "udev has looked again" is_quiet
	check "all are still mounted" are_mounted || diag "$(logs)"
	check "a file is written" dd if=/dev/urandom of=/data/other bs=64k count=4 \
		conv=fsync
}

first_boot() {
	install_service
	check "brickd starts, at each boot" systemctl enable --now brickd || bail "$(logs)"
	make_all
	names_are_there "at the end"
	without_the_brick
}

after_the_reboot() {
	check "fstab has mounted all three" wait_for $LONG_S are_mounted ||
		diag "$(logs)"
	check "their files are what they were" sha256sum -c $SUMS
	names_are_there "after the reboot"
	check "nothing has failed" test -z "$(systemctl --failed --no-legend)" ||
		diag "$(logs)"
}

case $BOOT in
1) first_boot ;;
2) after_the_reboot ;;
esac
