# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The commands of docs/packages.md, with packages of an earlier version: a disk is
# mounted. Under load all packages are upgraded, the driver's too, which DKMS builds
# here; nothing is lost. A removal is refused while the disk is in use. It is mounted
# again, by the new driver, when the system reboots, and a purge leaves the store.
# There the kernel comes to enforce signatures, as it does with Secure Boot.
#
# tests/fresh has installed what the packages need. With CCACHE_DIR it has remembered
# there what the compiler makes, and the case fails when that was of no use.
# ROOT: systemd
# MANUAL: yes
# BOOTS: 2
# FILES: docs/packages.md
# MEM: 3G
# MEASURES: yes
# TIMEOUT: 1800

DEBS=/srv/kfbrick-packages
LIST=/etc/apt/sources.list.d/kfbrick.list
STATE=/var/lib/upgrade
KEY=/var/lib/kfbrick/example.key
OTHER=0x40000000
COMMANDS_MAX=10
QUOTA=5% # of a processor, for each writer
export DEBIAN_FRONTEND=noninteractive

page() { # its commands
	awk '/^## / { here = $0 == "## From packages to a mounted file system" }
		/^```/ { code = here && $0 == "```sh"; next }
		code' /vm/files/packages.md
}

are_few() { # no more commands than one wants to type; a file's lines are none
	page | awk -v max=$COMMANDS_MAX '!text { n++ }
		/<<END$/ { text = 1 }
		$0 == "END" { text = 0 }
		END { print n, "commands"; exit !(n && n <= max) }'
}

logs() {
	systemctl --no-pager --failed
	journalctl --no-pager -o cat -u brickd -u mnt.mount -u kfbrick@data | tail -40
	dmesg | tail -20
}

is_mounted() {
	[ "$(findmnt -n -o FSTYPE /mnt)" = ext4 ]
}

is_by_uuid() { # of all that fstab names
	grep '^UUID=[^ ]* /mnt ' /etc/fstab
}

offered() { # offered FOLDER: the version that a repository has
	sed -n 's/^Version: //p' "$1/Packages" | sort -u
}

timed() { # timed COMMAND...: what it says goes to a file, with the time of each line
	[ -z "$CCACHE_DIR" ] || ccache --zero-stats >/dev/null
	{
		"$@" 2>&1
		echo $? >$STATE/status
	} | while IFS= read -r _line; do
		read -r _now _ </proc/uptime
		echo "$_now $_line"
	done >$STATE/times
	return "$(cat $STATE/status)"
}

# compiled: of the driver that was built just now; the compiler has done at most a
# tenth of it
compiled() {
	ccache --print-stats | grep -v '[[:space:]]0$' >$STATE/ccache
	awk -v files="$(find /usr/src/kfbrick-*/ -name '*.c' | wc -l)" '
		{ n[$1] = $2 }
		END {
			hits = n["direct_cache_hit"] + n["preprocessed_cache_hit"]
			print "of", files, "files", hits, "were remembered,",
				n["cache_miss"] + 0, "compiled"
			exit !(files && hits * 10 >= files * 9 &&
				n["cache_miss"] * 10 <= files)
		}' $STATE/ccache
}

tell_times() { # of what was done just now
	diag "$(cat $STATE/times)"
	[ -n "$CCACHE_DIR" ] || return
	check "the compiler's work was remembered" compiled
	diag "$(cat /tmp/check.out)"
}

noted() { # noted NAME: bytes that this writer has noted of flushes
	stat -c %s "$STATE/$1.notes" 2>/dev/null || echo 0
}

mark() { # from here on both are asked whether they write
	noted file >$STATE/file.mark
	noted brick >$STATE/brick.mark
}

writes() { # writes NAME: this writer has had flushes acknowledged since the mark
	[ "$(noted "$1")" -gt "$(cat "$STATE/$1.mark")" ]
}

file_writes() { # and has not ended
	kill -0 "$file_writer" && writes file
}

both_write() {
	file_writes && kill -0 "$brick_writer" && writes brick
}

both_go_on() { # both write from now on
	mark
	wait_for 120 both_write
}

file_goes_on() {
	mark
	wait_for 120 file_writes
}

# brick_is_told: who writes through the library, and has not asked for it
# (reconnect_ms), is not connected again: it learns of the loss, and ends
brick_is_told() {
	wait_for 120 is_over "$brick_writer" || return
	wait "$brick_writer"
	[ $? -eq 1 ]
}

# writer WORD...: no more than a little of the processors, and of brickd's time with
# that: the upgrade shall end
writer() {
	exec systemd-run --quiet --scope --property=CPUQuota=$QUOTA \
		powerfail-writer --size 32M --jobs 2 --fua "$@"
}

start_writers() {
	writer $STATE/file.notes /mnt/load >$STATE/file.log 2>&1 &
	file_writer=$!
	writer --brick tcp://127.0.0.1 --client example --key-file $KEY \
		--offset $OTHER $STATE/brick.notes >$STATE/brick.log 2>&1 &
	brick_writer=$!
}

stop_writers() { # the one that has not ended
	kill "$file_writer"
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

connects() { # how often each queue of the disk has connected
	grep -o 'connects=[0-9]*' /sys/block/kfbrick0/kfbrick/counters
}

upgrade() { # of all that is installed
	page | sed 1q | sh && apt-get -q update && apt-get -q upgrade -y
}

# all_are FOLDER: what is installed are the packages of that repository. dpkg also
# notes what is wanted of each, which a refused removal changes.
all_are() {
	dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' \
		'*kfbrick*' '*kfabric*' | awk -v want="$(offered "$1")" '
		!/^un / { print; n++; bad += $1 !~ /^.i$/ || $3 != want }
		END { exit bad || n < 3 }'
}

driver() { # driver FOLDER: the version of the modules of a repository's packages
	offered "$1" | cut -d - -f 1
}

loaded() { # the version of the driver that is loaded
	cat /sys/module/kfbrick/version
}

is_built() { # is_built FOLDER: DKMS has installed its driver, and no other
	dkms status >$STATE/dkms
	cat $STATE/dkms
	! grep -v "^kfbrick/$(driver "$1"), $(uname -r), .*: installed" $STATE/dkms &&
		[ "$(modinfo -F version kfbrick)" = "$(driver "$1")" ]
}

dkms_log() { # why it has built nothing
	tail -n 50 /var/lib/dkms/kfbrick/*/build/make.log
}

upgraded() { # under the writers
	_pid=$(main_pid)
	_before=$(connects)
	mark
	check "the packages are upgraded meanwhile" timed upgrade ||
		bail "$(cat $STATE/times; logs; dkms_log)"
	check "apt finds the repository whole" sh -c "! grep ' Err:' $STATE/times"
	check "both have written meanwhile" both_write
	diag "notes, in bytes: $(noted file) and $(noted brick)," \
		"before that $(cat $STATE/file.mark) and $(cat $STATE/brick.mark)"
	tell_times
	check "they are this version's" all_are $DEBS
	check "the driver was built" is_built $DEBS
	check "the driver that is loaded is the earlier one" \
		test "$(loaded)" = "$(driver $DEBS.old)"
	check "brickd was not restarted" test "$(main_pid)" = "$_pid"
	check "it is the one that was there before" runs_deleted
	check "the disk has not connected anew" test "$(connects)" = "$_before"
	check "both write on" both_go_on || diag "$(cat $STATE/*.log)"
}

first_boot() {
	mkdir -p $STATE
	check "the page has few commands" are_few
	page | sed "1s|file:$DEBS |file:$DEBS.old |" >/tmp/commands
	diag "$(cat /tmp/commands)"
	check "they install packages, attach a disk and mount it" \
		timed sh -ex /tmp/commands ||
		bail "$(cat $STATE/times; logs; dkms_log)"
	tell_times
	check "what was installed is the earlier version" all_are $DEBS.old
	check "so is the driver" is_built $DEBS.old
	check "it is loaded" test "$(loaded)" = "$(driver $DEBS.old)"
	check "it is mounted" is_mounted || bail "$(logs)"
	truncate -s 32M /mnt/load
	start_writers
	check "two write: into a file on the disk, and to the brick" \
		both_go_on || bail "$(cat $STATE/*.log)"

	upgraded

	check "brickd is restarted under them" systemctl restart brickd
	check_fails "it is the one that is installed now" runs_deleted
	check "who writes to the disk goes on" file_goes_on ||
		diag "$(cat $STATE/*.log; logs)"
	check "who writes to the brick is told of it" brick_is_told ||
		diag "$(cat $STATE/*.log; logs)"
	stop_writers
	check "nothing is lost of what was durable" nothing_is_lost

	check_fails "the package is not removed while its disk is mounted" \
		apt-get -q remove -y kfbrick
	check "it is still installed" all_are $DEBS
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

holds_disk() { # a process has it open
	sleep infinity 7</dev/kfbrick0 &
	holder=$!
	check_fails "the package is not removed while a process has its disk open" \
		apt-get -q remove -y kfbrick
	check "the disk is attached as before" systemctl is-active kfbrick@data
	check "and brickd runs as before" systemctl is-active brickd
	kill "$holder"
	wait "$holder"
}

enforces_signatures() { # as with Secure Boot, where DKMS's key is not enrolled
	echo Y >/sys/module/module/parameters/sig_enforce
	says "Key was rejected by service" modprobe kfabric_loop
}

second_boot() {
	check "the disk is mounted again" wait_for 60 is_mounted || bail "$(logs)"
	check "by the driver of this version" test "$(loaded)" = "$(driver $DEBS)"
	check "it is the one of fstab, by UUID" is_by_uuid
	check "its file is what it was" sha256sum -c $STATE/sum
	check "nothing is lost of what was durable" nothing_is_lost
	check "nothing has failed" test -z "$(systemctl --failed --no-legend)" ||
		diag "$(logs)"
	check "a kernel that enforces signatures refuses DKMS's key" \
		enforces_signatures
	check "it is unmounted" umount /mnt
	holds_disk
	check "all is purged" apt-get -q purge -y kfbrick libkfbrick0 kfbrick-dkms ||
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
