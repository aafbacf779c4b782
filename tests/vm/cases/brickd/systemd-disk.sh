# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What meson install installs, and README's commands after it: brickd as it is
# shipped, a disk on it by hand and by its unit; then the machine is rebooted.
# tests/fresh runs it with --system, in one where README's commands before those
# have run, too; IN is where the modules are then, if not where Meson puts them.
# ROOT: systemd
# BOOTS: 2
# FILES: README.md systemd/after-install kfabric/run-depmod
# MEM: 2G
# TIMEOUT: 600

MODULES=/lib/modules/$(uname -r)
PLACE=/usr/local/lib
SUMS=/var/lib/kfbrick.sums

commands() { # commands N: of the lists below README's "A disk"
	awk -v n="$1" '
		/^## / { here = $0 == "## A disk" }
		/^```/ { code = here && $0 == "```sh"; n -= code; next }
		code && n == 0' /vm/files/README.md
}

after_install() { # the rest of the first list
	commands 1 | sed '1,/^meson install /d'
}

is_installed() { # is_installed MODULE: what modprobe takes is what was installed
	modinfo -n "$1" | grep -x "$MODULES/${IN:-updates/kfbrick}/$1.ko\(\.xz\)*"
}

is_mounted() {
	[ "$(findmnt -n -o FSTYPE /mnt)" = ext4 ]
}

has_named_disk() {
	ls /dev/disk/by-id/kfbrick-*-0x0
}

logs() {
	systemctl --no-pager --failed
	journalctl --no-pager -o cat -u brickd -u mnt.mount -u kfbrick@data | tail -40
	dmesg | tail -20
}

nothing_failed() {
	[ -z "$(systemctl --failed --no-legend)" ]
}

# Where nothing was installed in the system itself, what meson install runs.
install_it() {
	# The runner's own modules are not those that are installed.
	rm -f "$MODULES"/updates/*.ko
	check "the installation makes modules known" \
		sh /vm/files/run-depmod /lib/modules "$(uname -r)"
	check "and users, settings, rules and units" sh /vm/files/after-install \
		$PLACE/sysusers.d/kfbrick.conf $PLACE/tmpfiles.d/kfbrick.conf
}

first_use() {
	[ -n "$SYSTEM" ] || install_it
	check "modprobe takes what was installed" is_installed kfbrick ||
		bail "$(modinfo -n kfbrick 2>&1; ls "$MODULES/updates")"
	check_fails "no module is loaded yet" grep -q ^kfabric /proc/modules

	after_install >/tmp/first
	commands 2 >/tmp/second
	diag "$(cat /tmp/first /tmp/second)"
	check "README starts brickd, attaches a disk, and mounts it" \
		sh -ex /tmp/first || bail "$(logs)"
	check "it is mounted" is_mounted
	check "the driver's version is the project's" test \
		"brickctl $(cat /sys/module/kfbrick/version)" = "$(brickctl --version)"
	check "a file is written" \
		dd if=/dev/urandom of=/mnt/file bs=1M count=8 conv=fsync
	sha256sum /mnt/file >$SUMS
	check "the disk has a name that stays" wait_for 30 has_named_disk
	check "README lets the units do it" sh -ex /tmp/second || bail "$(logs)"
	check "it is mounted by its name" is_mounted
	check "the file is what it was" sha256sum -c $SUMS
	check "another is written, which only the shutdown makes durable" \
		cp /mnt/file /mnt/other
	sed 's/file$/other/' $SUMS >>$SUMS
	# The next boot reads what the services say while they stop.
	mkdir -p /var/log/journal
	journalctl --flush
}

said() { # said UNIT TEXT: in the boot before this one
	journalctl -b -1 --no-pager -o cat -u "$1" | grep -F -e "$2"
}

monotonic() { # monotonic UNIT PROPERTY: when, in microseconds since the boot
	systemctl show -P "$2" "$1"
}

before() { # before UNIT UNIT: it was ready before the other was begun
	[ "$(monotonic "$1" ActiveEnterTimestampMonotonic)" -le \
		"$(monotonic "$2" InactiveExitTimestampMonotonic)" ]
}

after_the_reboot() {
	check "the disk is mounted" wait_for 60 is_mounted || diag "$(logs)"
	check "its files are what they were" sha256sum -c $SUMS
	check "brickd was there before the disk" before brickd.service \
		kfbrick@data.service
	check "the disk was there before the mount" before kfbrick@data.service \
		mnt.mount
	check "brickd was stopped cleanly for the reboot" said brickd \
		"stopped cleanly"
	check "the disk was detached before that" said kfbrick@data \
		"Deactivated successfully"
	check "nothing has failed" nothing_failed || diag "$(logs)"
}

case $BOOT in
1) first_use ;;
2) after_the_reboot ;;
esac
