# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# File systems on disks whose brick loses power, again and again.
#
# One loss of power is one cut for each of the file systems: each has a disk of
# its own, with its own connections, so that no flush of one covers another's
# writes. A shell of its own leads each through the cut; /tmp/cut/FS is where
# they leave for the case what it asks.
#
# A case may define what is done on its subjects: prepare_syncs (once),
# begin_syncs CUT, has_syncs (so many syncs are noted that a cut may come),
# end_syncs, verify_syncs CUT: 0 all is there, 1 it is not, else it cannot be told.
# They run on a file system that is mounted on $PLACE. KFB_CUTS is how many
# losses of power, KFB_SEED says what happens in them.

WORK=/tmp/cut
SLOT=320 # MiB from the base of one disk to that of the next
# Of all disks together, from when lines are held to the cut, at most. With 24 no
# line was lost in two cuts of two: too few of them are writes.
MOST_OPERATIONS=80

# subject NAME, which is TYPE or TYPE:LOAD: these, DIR (what is known of it),
# PLACE, and where its disk is
subject() {
	# shellcheck disable=SC2034 # LOAD is the cases'
	NAME=$1 TYPE=${1%:*} LOAD=${1#*:} DIR=$WORK/$1 PLACE=/mnt/$1
	_n=0
	for _name in $SUBJECTS; do
		[ "$_name" != "$NAME" ] || BASE=$((_n * SLOT))
		_n=$((_n + 1))
	done
	case $NAME in
	xfs*) SIZE=304M ;; # mkfs.xfs makes none below 300 MiB
	btrfs*) SIZE=160M ;;
	*:postgres) SIZE=128M ;;
	*) SIZE=64M ;;
	esac
	[ ! -e "$DIR/disk" ] || read -r DISK <"$DIR/disk"
	# shellcheck disable=SC2034 # of disk.sh
	CTL=/sys/block/${DISK#/dev/}/kfbrick
	ATTACH_ERR=$DIR/attach.err
}

# ---- what depends on the file system

mount_fs() {
	case $TYPE in
	ext4) mount -t ext4 -o data=ordered "$DISK" "$PLACE" ;;
	ext4-journal) mount -t ext4 -o data=journal "$DISK" "$PLACE" ;;
	*) mount -t "$TYPE" "$DISK" "$PLACE" ;;
	esac
}

# Everything that the file system's own tools can do, the gentlest first.
repair_fs() {
	case $TYPE in
	ext4*) fsck.ext4 -f -y "$DISK" || [ $? -le 1 ] ;;
	xfs) xfs_repair "$DISK" || xfs_repair -L "$DISK" ;;
	btrfs)
		btrfs rescue super-recover -y "$DISK"
		btrfs check --readonly "$DISK" && return
		btrfs rescue zero-log "$DISK"
		btrfs check --repair --force "$DISK"
		;;
	esac
}

# ---- the load, unless a case defines another one: files, see powerfail-files

prepare_syncs() {
	true
}

begin_syncs() { # begin_syncs CUT
	rm -f "$DIR/notes"
	rm -rf "$PLACE/d$(($1 - 2))"
	mkdir "$PLACE/d$1" && sync -f "$PLACE" || return
	powerfail-files load "$DIR/notes" "$PLACE/d$1" $((SEED * 1000 + $1)) &
	_load=$!
}

has_syncs() {
	[ "$(lines_in "$DIR/notes")" -gt 6 ]
}

end_syncs() {
	kill -KILL "$_load" 2>/dev/null
	wait "$_load" 2>/dev/null
}

verify_syncs() { # verify_syncs CUT
	[ -d "$PLACE/d$1" ] || {
		echo "its folder is lost"
		return 1
	}
	powerfail-files verify "$DIR/notes" "$PLACE/d$1"
}

# ---- one file system

# Lines are held back by endpoints that were made while the knob "power" was on.
# That is slow, as each line goes to the brick by itself then: it is on from
# shortly before a cut until the disks are attached anew.
attach_fs() {
	attach_disk --base "$(printf '0x%x' $((BASE << 20)))" --size "$SIZE" --queues "${QUEUES:-4}" \
		--reconnect-s 600 --provider 'fault;verbs' || return
	echo "$DISK" >"$DIR/disk"
	: >"$DIR/attached"
}

is_back() { # the disk has learnt what became of its writes
	state_is lossy || state_is up
}

repaired() { # repaired WHY
	echo "$1" >>"$DIR/repairs"
	repair_fs
}

# Under load until the power is back, and detached after it.
until_cut() { # until_cut CUT
	mount_fs && begin_syncs "$1" && wait_for $LONG_S has_syncs || return
	: >"$DIR/armed"
	wait_for $LONG_S test -e $WORK/back && wait_for $LONG_S is_back || return
	end_syncs
	wait_for $LONG_S umount "$PLACE" || return
	# What it held is lost, and it says so.
	detach_disk >"$DIR/detach.out" 2>&1 || true
}

# What the file system says of itself, and what is in it.
recover() { # recover CUT
	# The brick may still be at the end of the session that was detached.
	wait_for $LONG_S attach_fs || return 2
	if ! mount_fs; then
		repaired mount && mount_fs || return 2
	fi
	verify_syncs "$1"
	_verdict=$?
	umount "$PLACE" || return 2
	# Its journal was replayed: nothing else may need to be mended.
	if ! check_fs "$TYPE" >"$DIR/check.out" 2>&1; then
		cat "$DIR/check.out"
		repaired check || return 2
	fi
	return $_verdict
}

# The shell of one file system; its verdict goes to DIR/verdict.
cut_fs() { # cut_fs FS CUT
	subject "$1"
	if until_cut "$2" >"$DIR/load.out" 2>&1; then
		recover "$2" >"$DIR/recover.out" 2>&1
		_rc=$?
	else
		_rc=3
	fi
	echo $_rc >"$DIR/verdict"
}

# ---- all of them

on_each() { # on_each COMMAND...: for every subject
	for _subject in $SUBJECTS; do
		subject "$_subject"
		"$@" || return
	done
}

has_come_to() { # has_come_to MARK: or has failed already
	[ -e "$DIR/$1" ] || [ -e "$DIR/verdict" ]
}

wait_until() { # wait_until MARK: this one has come so far
	wait_for $LONG_S has_come_to "$1"
}

random() { # random SALT BOUND: follows from SEED
	_x=$(((SEED * 1000003 + $1) * 2654435761 & 0xffffffff))
	_x=$(((_x ^ _x >> 15) * 2246822519 & 0xffffffff))
	echo $(((_x ^ _x >> 13) % $2))
}

# one_cut CUT: all subjects lose power at once, in the midst of their operations
one_cut() {
	# Before anybody begins: a mark of the last cut would be taken for one of
	# this.
	rm -f $WORK/back $WORK/*/armed $WORK/*/attached $WORK/*/verdict
	_workers=
	for _subject in $SUBJECTS; do
		cut_fs "$_subject" "$1" &
		_workers="$_workers $!"
	done
	on_each wait_until armed || return
	_was=$(fault_count lost_lines) _at=$((1 + $(random "$1" "$MOST_OPERATIONS")))
	_p=$(($1 % 2 * 600))
	echo $_p >"$FAULT/drain_permille"
	echo 1 >"$FAULT/power"
	fail_power_at $_at
	_rc=$?
	_lost=$(($(fault_count lost_lines) - _was))
	[ $_lost -eq 0 ] || HITS=$((HITS + 1))
	: >$WORK/back
	on_each wait_until attached
	echo 0 >"$FAULT/power"
	# shellcheck disable=SC2086 # words
	wait $_workers
	diag "cut $1: at operation $_at, p $((_p / 10))%, $_lost lines lost;" \
		"at $(now_s) s: $(cat $WORK/*/verdict | xargs)" >&3
	return $_rc
}

# validate CUT: 1 when a file system could not be brought back
validate() {
	_bad=0
	for _subject in $SUBJECTS; do
		subject "$_subject"
		_rc=$(cat "$DIR/verdict")
		[ "$_rc" != 0 ] || continue
		echo "$NAME: seed $SEED, cut $1 ended with $_rc"
		tail -n 30 "$DIR/load.out" "$DIR/recover.out" "$ATTACH_ERR" \
			$BRICK_LOG
		if [ "$_rc" = 1 ]; then
			echo "$1" >>"$DIR/lost"
		else
			_bad=1
		fi
	done
	return $_bad
}

begin_disk() {
	mkdir -p "$DIR" "$PLACE"
	modprobe -q "${TYPE%-journal}"
	attach_fs
}

begin_fs() {
	make_fs "$TYPE" && mount_fs && prepare_syncs && umount "$PLACE"
}

end_fs() {
	detach_disk && ctl free "$(printf '0x%x' $((BASE << 20)))+$SIZE"
}

# cuts_of_all [first]: $CUTS of them, or until the first that loses something
cuts_of_all() {
	HITS=0 CUT=0
	while [ $CUT -lt "$CUTS" ]; do
		CUT=$((CUT + 1))
		one_cut $CUT && validate $CUT || return
		[ -z "$1" ] || [ -z "$(cat $WORK/*/lost 2>/dev/null)" ] ||
			return 0
	done
}

lines_in() { # lines_in FILE: 0 if there is none
	[ -e "$1" ] || set -- /dev/null
	wc -l <"$1"
}

tell_fs() { # what became of one file system
	diag "$NAME: seed $SEED: $(lines_in "$DIR/lost") of $CUT cuts lost," \
		"$(lines_in "$DIR/repairs") repairs"
}

nothing_lost() {
	! grep . "$DIR/lost"
}

# powerfs_begin SUBJECTS [SETTING...]: a brick, and a file system on each disk
powerfs_begin() {
	SUBJECTS=$1 CUTS=${KFB_CUTS:-3} SEED=${KFB_SEED:-1} LONG_S=200
	shift
	exec 3>&1 # each cut is told when it is over, whoever is silent
	fault_setup power=1 "seed=$SEED"
	disk_setup "lease-ms = 600000" "$@"
	mkdir -p $WORK
	check "each disk is attached" on_each begin_disk ||
		bail "$(cat $WORK/*/attach.err)"
	echo 0 >"$FAULT/power"
	check "each file system is made" on_each begin_fs || bail "without it there is nothing to lose"
}

powerfs_end() {
	# No line is held right after a flush: it takes some cuts to be sure.
	[ "$CUT" -lt 20 ] || check "bytes that were not flushed were lost" \
		test "$HITS" -gt 0
	diag "$HITS of $CUT cuts lost bytes that were not flushed;" \
		"$(fault_count lost_lines) lines in all"
	check "their blocks are freed" on_each end_fs
	same_boot
	fault_end disk_end
}
