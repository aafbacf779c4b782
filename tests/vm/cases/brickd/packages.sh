# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The commands of docs/packages.md behind the installation, which tests/fresh has
# done with packages of an earlier version: a disk is mounted. Under load those of
# this version are installed, but for the driver's; nothing is lost. A removal is
# refused while the disk is in use. It is mounted again when the system reboots,
# and a purge leaves the store.
# ROOT: systemd
# MANUAL: yes
# BOOTS: 2
# FILES: docs/packages.md
# MEM: 2G
# TIMEOUT: 1200

DEBS=/srv/kfbrick-packages
LIST=/etc/apt/sources.list.d/kfbrick.list
STATE=/var/lib/upgrade
KEY=/var/lib/kfbrick/example.key
OTHER=0x40000000
export DEBIAN_FRONTEND=noninteractive

commands() { # of the page, behind the installation
	awk '/^## / { here = $0 == "## From packages to a mounted file system" }
		/^```/ { code = here && $0 == "```sh"; next }
		code' /vm/files/packages.md | sed '1,/^apt-get install /d'
}

logs() {
	systemctl --no-pager --failed
	journalctl --no-pager -o cat -u brickd -u mnt.mount -u kfbrick@data | tail -40
	dmesg | tail -20
}

is_mounted() {
	[ "$(findmnt -n -o FSTYPE /mnt)" = ext4 ]
}

offline() { # offline COMMAND...: of apt-get, with our packages alone
	apt-get -q -o "Dir::Etc::SourceList=$LIST" -o Dir::Etc::SourceParts=- "$@"
}

version() { # version PACKAGE: that is installed
	dpkg-query -W -f '${Version}' "$1"
}

offered() { # offered FOLDER: the version that a repository has
	sed -n 's/^Version: //p' "$1/Packages" | sort -u
}

writes() { # writes NAME: this writer has had flushes acknowledged since it was asked last
	now=$(stat -c %s "$STATE/$1.notes" 2>/dev/null || echo 0)
	[ "$now" -gt "$(cat "$STATE/$1.size" 2>/dev/null || echo 0)" ]
}

goes_on() { # goes_on NAME: it writes from now on
	size=$(stat -c %s "$STATE/$1.notes" 2>/dev/null || echo 0)
	echo "$size" >"$STATE/$1.size"
	wait_for 120 writes "$1"
}

both_go_on() {
	goes_on file && goes_on brick
}

start_writers() {
	mkdir -p $STATE
	powerfail-writer --size 32M --jobs 2 --fua "$STATE/file.notes" /mnt/load \
		>"$STATE/file.log" 2>&1 &
	file_writer=$!
	powerfail-writer --brick tcp://127.0.0.1 --client example --key-file $KEY \
		--offset $OTHER --size 32M --jobs 2 --fua "$STATE/brick.notes" \
		>"$STATE/brick.log" 2>&1 &
	brick_writer=$!
}

both_write() {
	kill -0 "$file_writer" "$brick_writer"
}

stop_writers() {
	kill "$file_writer" "$brick_writer"
	wait
}

nothing_is_lost() { # nothing_is_lost: of what either writer was told is durable
	powerfail-verify "$STATE/file.notes" /mnt/load &&
		powerfail-verify --brick tcp://127.0.0.1 --client example \
			--key-file $KEY "$STATE/brick.notes"
}

runs_deleted() { # the daemon that runs is another than the one that is installed
	readlink "/proc/$(main_pid)/exe" | grep -q deleted
}

connects() { # how often the disk has connected
	awk '/connects/ { print }' /sys/block/kfbrick0/kfbrick/counters
}

upgrade() { # all but the driver
	echo "deb [trusted=yes] file:$DEBS ./" >$LIST
	offline update && offline install -y kfbrick libkfbrick0
}

first_boot() {
	commands >/tmp/commands
	diag "$(cat /tmp/commands)"
	check "the page's commands attach a disk and mount it" sh -ex /tmp/commands ||
		bail "$(logs)"
	check "it is mounted" is_mounted || bail "$(logs)"
	truncate -s 32M /mnt/load
	start_writers
	check "two write: into a file on the disk, and to the brick" \
		both_go_on || bail "$(cat $STATE/*.log)"

	pid=$(main_pid)
	before=$(connects)
	check "what was installed is the earlier version" \
		test "$(version kfbrick)" = "$(offered $DEBS.old)"
	check "the packages are upgraded meanwhile" upgrade || bail "$(logs)"
	check "they are this version's" test "$(version kfbrick)" = "$(offered $DEBS)"
	check "the driver's is not" \
		test "$(version kfbrick-dkms)" = "$(offered $DEBS.old)"
	check "brickd was not restarted" test "$(main_pid)" = "$pid"
	check "it is the one that was there before" runs_deleted
	check "the disk has not connected anew" test "$(connects)" = "$before"
	check "both write on" both_go_on || diag "$(cat $STATE/*.log)"

	check "brickd is restarted under them" systemctl restart brickd
	check_fails "it is the one that is installed now" runs_deleted
	check "both write on" both_go_on || diag "$(cat $STATE/*.log; logs)"
	check "neither has ended" both_write
	stop_writers
	check "nothing is lost of what was durable" nothing_is_lost

	check_fails "the package is not removed while its disk is mounted" \
		offline remove -y kfbrick
	check "it is still installed" test "$(version kfbrick)" = "$(offered $DEBS)"
	check "the disk is still mounted" is_mounted
	check "brickd still runs" systemctl is-active brickd
	sha256sum /mnt/load >$STATE/sum
}

has_left() { # what has kfbrick in its name, but for these tests' own
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /srv -o \
		-path /vm -o -path /var/log -o -path /var/cache/apt -o \
		-path /var/lib/apt -o -path "$LIST" \) -prune -o \
		\( -name '*kfbrick*' -o -name '*brickd*' -o -name '*kfabric*' \) -print
}

second_boot() {
	check "the disk is mounted again" wait_for 60 is_mounted || bail "$(logs)"
	check "its file is what it was" sha256sum -c $STATE/sum
	check "nothing has failed" test -z "$(systemctl --failed --no-legend)" ||
		diag "$(logs)"
	check "it is unmounted" umount /mnt
	check "all is purged" offline purge -y kfbrick libkfbrick0 kfbrick-dkms ||
		bail "$(logs)"
	check_fails "the disk is gone" test -e /sys/block/kfbrick0
	check_fails "brickd does not run" systemctl is-active brickd
	has_left | sort >/tmp/left
	diag "$(cat /tmp/left)"
	check "nothing is left but the store's folder" \
		test "$(cat /tmp/left)" = /var/lib/kfbrick
	check "the store is there" test -s /var/lib/kfbrick/store
	check "nothing else is there" test "$(ls /var/lib/kfbrick)" = store
}

case $BOOT in
1) first_boot ;;
2) second_boot ;;
esac
