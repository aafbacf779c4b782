# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# ext4 on a disk that loses power again and again: all that was synced is there.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickctl powerfail-files
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 3600
# ALLOW: EXT4-fs (error|warning)|JBD2|Buffer I/O error|I/O error

# KFB_CUTS: of each file system; KFB_SEED; KFB_FS: which.
CUTS=${KFB_CUTS:-3}
SEED=${KFB_SEED:-1}
LONG_S=200
FAULT=$FABRIC/fault
SIZE=128M

mount_fs() { # mount_fs ext4|ext4-journal
	case $1 in
	ext4) mount -t ext4 -o data=ordered "$DISK" /mnt ;;
	ext4-journal) mount -t ext4 -o data=journal "$DISK" /mnt ;;
	esac
}

has_synced() { # has_synced N: so many notes
	[ -e /tmp/notes ] && [ "$(wc -l </tmp/notes)" -gt "$1" ]
}

is_back() {
	state_is lossy || state_is up
}

# Holding lines back is slow: it is on while an endpoint is made, which gets its
# memory for them then, and from shortly before a cut on. Nothing is held when it
# is switched off.
attach_it() {
	echo 1 >"$FAULT/power"
	attach_disk --size $SIZE --queues 4 --reconnect-s 600 \
		--provider 'fault;verbs' || return
	echo 0 >"$FAULT/power"
}

notes() {
	wc -l </tmp/notes
}

# A loss of power in the midst of syncs; nothing is noted of it that is not
# durable. The random part of the number of notes is where it comes.
cut_under_load() {
	_cut=$1
	rm -f /tmp/notes
	mkdir -p "/mnt/d$_cut" && rm -rf "/mnt/d$((_cut - 2))"
	powerfail-files load /tmp/notes "/mnt/d$_cut" $((SEED * 1000 + _cut)) \
		>/tmp/load.out 2>&1 &
	_load=$!
	wait_for $LONG_S has_synced $((4 + (SEED * 7919 + _cut * 31) % 40))
	echo 1 >"$FAULT/power"
	wait_for $LONG_S has_synced $(($(notes) + (SEED * 101 + _cut * 7) % 8))
	_synced=$?
	fail_power && wait_for $LONG_S is_back || return
	kill -KILL $_load 2>/dev/null
	wait $_load 2>/dev/null
	umount /mnt
	detach_disk >/tmp/detach.out 2>&1
	return $_synced
}

repair_fs() {
	fsck.ext4 -f -y "$DISK" || [ $? -le 1 ]
}

# What the file system says of itself, and what is in it.
recover() {
	attach_it || return
	if ! mount_fs "$1" 2>/tmp/mount.err; then
		repairs=$((repairs + 1))
		repair_fs && mount_fs "$1" || return
	fi
	powerfail-files verify /tmp/notes "/mnt/d$2"
	_verdict=$?
	umount /mnt || return
	# Its journal was replayed: nothing else may need to be mended.
	if ! fsck.ext4 -f -n "$DISK" >/tmp/fsck.out 2>&1; then
		repairs=$((repairs + 1))
		cat /tmp/fsck.out
		repair_fs || return
	fi
	return $_verdict
}

one_cycle() { # one_cycle FS NUMBER: 0 good, 1 lost, other: it failed
	mount_fs "$1" || return 2
	cut_under_load "$2" || return 3
	recover "$1" "$2" >/tmp/recover.out 2>&1
}

cycles_of() { # cycles_of FS: $CUTS of them
	lost=0 repairs=0 _n=0
	attach_it || return
	mkfs.ext4 -q -F "$DISK" || return
	while [ $_n -lt "$CUTS" ]; do
		_n=$((_n + 1))
		one_cycle "$1" $_n
		_rc=$?
		[ $_rc -eq 0 ] && continue
		echo "seed $SEED, cut $_n ended with $_rc"
		cat /tmp/attach.err /tmp/load.out /tmp/mount.err /tmp/recover.out
		[ $_rc -eq 1 ] || return
		lost=$((lost + 1))
	done
	detach_disk
}

modprobe kfabric_fault || bail "the fault layer loads"
echo 600 >$FAULT/drain_permille
echo "$SEED" >$FAULT/seed
disk_setup "lease-ms = 600000"
mkdir -p /mnt
modprobe -q ext4
for fs in ${KFB_FS:-ext4 ext4-journal}; do
	check "$fs: $CUTS losses of power" cycles_of "$fs"
	check "$fs: nothing that was synced is lost" test "$lost" -eq 0
	diag "$fs: seed $SEED: $lost of $CUTS cuts lost, $repairs repairs"
	check "$fs: its blocks are freed" ctl free 0x0+$SIZE
done
# None, if each cut came right after a flush.
diag "$(grep lost_lines $FAULT/counters)"
echo 1 >$FAULT/reset
same_boot
disk_end
check "the fault layer unloads" rmmod kfabric_fault
