# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# dm-log-writes over a disk: at every flush the file system mounts and has it all.
# NEEDS: rdma nvdimm fs btrfs block raid
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl powerfail-files powerfail-replay
# NVDIMM: 352M persist=mem-ctrl
# MEM: 3G
# TIMEOUT: 3600
# ALLOW: EXT4-fs|XFS \(|BTRFS (warning|info)

# KFB_FS: which file systems; KFB_SYNCS: of each.
#
# What the file system wrote to the disk is logged with its flushes. The log is
# replayed on a copy of the disk as it was before, up to each flush in turn, as
# if the power had failed after it and nothing later had become durable.
SUBJECTS=${KFB_FS:-ext4 xfs btrfs}
SYNCS=${KFB_SYNCS:-20}
LOGGED=logged
LOG_MIB=128
export DM_DISABLE_UDEV=1

# The disk below the log; its file system is made before anything is logged.
make_logged() {
	attach_disk --size "$SIZE" --queues 2 && make_fs "$TYPE" || return
	dd if="$DISK" of=/tmp/replayed bs=1M 2>/dev/null || return
	rm -f /tmp/log
	truncate -s ${LOG_MIB}M /tmp/log
	_loop=$(losetup -f) && losetup "$_loop" /tmp/log || return
	echo "0 $(($(blockdev --getsize64 "$DISK") / 512)) log-writes $DISK $_loop" |
		dmsetup create $LOGGED
}

load_logged() {
	rm -f /tmp/notes
	(DISK=/dev/mapper/$LOGGED mount_fs) && mkdir "$PLACE/d" || return
	sync
	powerfail-files load /tmp/notes "$PLACE/d" "${KFB_SEED:-1}" "$SYNCS" $LOGGED &&
		umount "$PLACE" && dmsetup remove $LOGGED && losetup -d "$_loop" &&
		detach_disk
}

# What a replay has made is looked at as a copy: mounting changes it.
on_copy() { # on_copy COMMAND...: with the copy as DISK
	cp /tmp/replayed /tmp/copy && DISK=$(losetup -f) &&
		losetup "$DISK" /tmp/copy || return
	"$@"
	_rc=$?
	losetup -d "$DISK"
	return $_rc
}

look() { # look SYNCS: so many are durable
	mount_fs || return
	_verdict=0
	[ "$1" -eq 0 ] || powerfail-files verify /tmp/notes "$PLACE/d" "$1" ||
		_verdict=$?
	umount "$PLACE" && check_fs "$TYPE" && return $_verdict
}

# replay_all: at every flush; FLUSHES and MARK, that of the last one, are known
replay_all() {
	FLUSHES=0 _next=0
	while :; do
		powerfail-replay /tmp/log /tmp/replayed $_next >/tmp/replay.out
		_replayed=$?
		[ $_replayed -eq 0 ] || break
		read -r _next MARK </tmp/replay.out
		FLUSHES=$((FLUSHES + 1))
		on_copy look "$MARK" >/tmp/look.out 2>&1 || {
			echo "before entry $_next, after $MARK syncs:"
			tail -n 30 /tmp/look.out
			return 1
		}
		[ "$MARK" -ne $((SYNCS / 2)) ] || cp /tmp/replayed /tmp/half
	done
	[ $_replayed -eq 1 ] # the end of the log
}

halfway_passes_as() { # halfway_passes_as SYNCS: what was there after half
	mv /tmp/half /tmp/replayed && on_copy look "$1"
}

disk_setup
modprobe -a loop dm-mod dm-log-writes || bail "the device mapper loads"
for fs in $SUBJECTS; do
	subject "$fs"
	mkdir -p "$DIR" "$PLACE"
	modprobe -q "${TYPE%-journal}"
	check "$fs: a disk is attached, and its writes are logged" make_logged ||
		exit
	check "$fs: $SYNCS syncs are done" load_logged || exit
	check "$fs: at every flush it mounts, is whole and has what was synced" \
		replay_all
	check "$fs: each sync has a flush" test "$FLUSHES" -ge "$SYNCS"
	check "$fs: the last of them has all syncs" test "$MARK" -eq "$SYNCS"
	diag "$fs: $FLUSHES flushes"
	check "$fs: what was there after half of them is found out" \
		says LOST halfway_passes_as "$SYNCS"
	check "$fs: its blocks are freed" ctl free "0x0+$SIZE"
done
disk_end
