# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What meson install installs, and README's commands after it: brickd as it is
# shipped, a disk on it by hand and by its unit, and the next boot.
# ROOT: systemd
# FILES: README.md systemd/after-install kfabric/run-depmod
# MEM: 2G
# TIMEOUT: 600

MODULES=/lib/modules/$(uname -r)
PLACE=/usr/local/lib

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
	modinfo -n "$1" | grep -x "$MODULES/updates/kfbrick/$1.ko"
}

is_mounted() {
	[ "$(findmnt -n -o FSTYPE /mnt)" = ext4 ]
}

logs() {
	systemctl --no-pager --failed
	journalctl --no-pager -o cat -u brickd -u mnt.mount -u kfbrick@data | tail -40
	dmesg | tail -20
}

# The runner's own modules are not those that are installed.
rm -f "$MODULES"/updates/*.ko
check "the installation makes modules known" \
	sh /vm/files/run-depmod /lib/modules "$(uname -r)"
check "and users, settings, rules and units" sh /vm/files/after-install \
	$PLACE/sysusers.d/kfbrick.conf $PLACE/tmpfiles.d/kfbrick.conf
check "modprobe takes what was installed" is_installed kfbrick ||
	bail "$(modinfo -n kfbrick 2>&1; ls "$MODULES/updates")"
check_fails "no module is loaded yet" grep -q ^kfabric /proc/modules

after_install >/tmp/first
commands 2 >/tmp/second
diag "$(cat /tmp/first /tmp/second)"
check "README starts brickd, attaches a disk, and mounts it" sh -ex /tmp/first ||
	bail "$(logs)"
check "it is mounted" is_mounted
check "the driver's version is the project's" test \
	"brickctl $(cat /sys/module/kfbrick/version)" = "$(brickctl --version)"
check "a file is written" dd if=/dev/urandom of=/mnt/file bs=1M count=8 conv=fsync
sum=$(sha256sum </mnt/file)
check "the disk has a name that stays" \
	wait_for 30 sh -c 'ls /dev/disk/by-id/kfbrick-*-0x0'
check "README lets the units do it" sh -ex /tmp/second || bail "$(logs)"
check "it is mounted by its name" is_mounted
check "the file is what it was" test "$(sha256sum </mnt/file)" = "$sum"

# What a shutdown does, and the next boot.
check "all of it stops" systemctl stop mnt.mount kfbrick@data brickd
check_fails "nothing is mounted" is_mounted
check "the driver unloads" modprobe -r kfbrick
for unit in brickd kfbrick@data; do
	check "$unit is wanted at boot" systemctl is-enabled "$unit"
done
check "it comes back" systemctl start brickd remote-fs.target
check "the disk is mounted" wait_for 60 is_mounted || diag "$(logs)"
check "and the file is there" test "$(sha256sum </mnt/file)" = "$sum"
