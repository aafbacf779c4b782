# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A cluster of two, of the distribution's parts: GFS2 on a striped volume over the disks
# of three bricks, written by both nodes. One of them loses the cluster and goes on
# writing, and is fenced; then it dies, again and again, and comes back.
# NEEDS: rdma nvdimm python lvmlockd
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# FILES: initiator/brickctl/fence/fence_kfbrick.in tests/vm/target/exercise_file.py
# GUESTS: 2
# NVDIMM: 96M persist=mem-ctrl
# NVDIMM: 96M persist=mem-ctrl
# NVDIMM: 96M persist=mem-ctrl
# MEM: 1G
# MANUAL: yes
# ALLOW: Call Trace|WARNING: .* dlm_add_requestqueue
# TIMEOUT: 7200

# shellcheck disable=SC2034 # of bricks.sh
BRICKS_IP=$SERVER_IP LVM_GLOBAL="use_lvmlockd = 1"
LONG_S=900
BRICKS="0 1 2"
SIZE=64M
LV=/dev/shared/data
MOUNT=/mnt/data
OPERATIONS=${KFB_OPERATIONS:-500}
OPERATIONS_MEANWHILE=${KFB_OPERATIONS_MEANWHILE:-100} # while node two dies
FILES=${KFB_FILES:-100}
DEATHS=${KFB_KILLS:-2} # of node two; at the first it has been fenced alive
SECONDS_APART=10

ctl() { # as this node
	brickctl_as "$NAME" 60 "$@"
}

# ---- getting there

serve_one() { # serve_one N
	dax=$(devdax_setup "$1") || return
	brick "$1"
	configure_hosts "$dax" "$BRICK_IP" "lease-ms = 3000" "fences = /tmp/fences$1"
	brickd format "$dax" --force && serve_it && ctl alloc 0x0+$SIZE
}

all_bricks() { # URLs, with commas
	for n in $BRICKS; do
		brick "$n"
		printf '%s%s' "${_comma:-}" "verbs://$BRICK_IP"
		_comma=,
	done
}

attach_all() {
	disks=
	for n in $BRICKS; do
		brick "$n"
		attach_it --shared --size $SIZE --queues 2 --reconnect-s 120 || return
		disks="$disks $DISK"
	done
}

detach_all() {
	for n in $BRICKS; do
		brick "$n"
		detach_disk || return
	done
}

serve_locks() { # LVM's, by the cluster's
	lvm_setup || return
	lvmlockd -D -g dlm >>/tmp/lvmlockd.log 2>&1 &
	LVMLOCKD=$!
	wait_for "$LONG_S" test -S /run/lvm/lvmlockd.socket
}

leave_locks() {
	kill "$LVMLOCKD" && wait "$LVMLOCKD"
}

# shellcheck disable=SC2086 # three words
make_volume() {
	lvm_here vgcreate -qq --shared shared $disks &&
		lvm_here lvcreate -qq -y -W n --stripes 3 --stripesize 64k \
			--extents 100%FREE --activate sy --name data shared &&
		mkfs.gfs2 -O -q -K -p lock_dlm -t $CLUSTER:data -j 2 -J 8 $LV
}

start_volume() {
	lvm_here vgchange -qq --lock-start shared &&
		lvm_here lvchange -qq --activate sy shared/data
}

mount_it() {
	modprobe gfs2 && mkdir -p $MOUNT && mount -t gfs2 -o noatime $LV $MOUNT
}

come() { # this node has the cluster's locks, the disks, and LVM's
	check "$1: it is in the cluster" join_cluster || exit
	[ "$BOOT" -gt 1 ] || check "$1: so is the other" meet members $LONG_S || exit
	check "$1: it has locks" join_locks lvm_global lvm_shared || exit
	check "$1: the disks are attached" attach_all || exit
	check "$1: it has the volumes' locks" serve_locks || exit
}

# ---- what nodes do

work_on() { # work_on FILE OPERATIONS SEED: the sum that it must have goes beside it
	exercise "$MOUNT/$1" "$2" "$3" mapped >/tmp/sum 2>/tmp/exercise.err || {
		cat /tmp/exercise.err
		return 1
	}
	cp /tmp/sum "$MOUNT/$1.sum"
}

is_exercised() { # is_exercised FILE: what was done to it, by whomever
	echo "$(cat "$MOUNT/$1.sum")  $MOUNT/$1" | sha256sum -c
}

keep() { # keep FILE SEED: durably; each time other bytes
	awk -v seed="$2" 'BEGIN {
		for (i = 0; i < 4096; i++)
			printf "%15d %15d\n", seed, i }' >"$MOUNT/$1" && sync "$MOUNT/$1"
}

is_kept() { # is_kept FILE SEED
	awk -v seed="$2" '$1 != seed || $2 != NR - 1 { bad = 1 }
		END { exit bad || NR != 4096 }' "$MOUNT/$1"
}

both_write() {
	check "$FILES files are written" make_tree "$MOUNT/$NAME" "$FILES"
	check "so are the other's" meet files $LONG_S
	check "they have 0 differences" tree_is "$MOUNT/$OTHER" "$FILES"
	check "$OPERATIONS operations on a file" work_on "at-$NAME" "$OPERATIONS" "$NODE"
	check "and on one by the other" meet operations $LONG_S
	check "whose file has 0 differences" is_exercised "at-$OTHER"
	check "both have looked" meet looked $LONG_S
}

# ---- node one, which has the bricks

still() { # still FILE: no byte of it changes
	dd if="$1" of=/tmp/was bs=64k iflag=direct && sleep $SECONDS_APART &&
		dd if="$1" of=/tmp/is bs=64k iflag=direct && cmp /tmp/was /tmp/is
}

split() { # the other one is alive, and of the cluster no more
	check "split: the other one writes" wait_peer split-writing $LONG_S
	check "split: it is fenced" wait_for $LONG_S has_fenced 1 ||
		diag "$(tail -30 $DLM_LOG)"
	check "split: what it wrote is read, and still" still $MOUNT/split ||
		diag "$(dmesg | tail -20)"
	check "split: this node writes there" keep split 77
	check "split: the other one cannot" wait_peer split-waits $LONG_S
	check "split: no byte of it has landed" is_kept split 77
	announce split-done
}

death() { # death N: this node writes on all the time
	work_on "during-$1" "$OPERATIONS_MEANWHILE" $((100 + $1)) &
	_worker=$!
	check "death $1: the other one is about to die" wait_peer "ready-$1" $LONG_S
	announce "die-$1"
	check "death $1: it is fenced" wait_for $LONG_S has_fenced "$1" ||
		diag "$(tail -30 $DLM_LOG)"
	check "death $1: this node's work goes on" wait $_worker
	check "death $1: and is right" is_exercised "during-$1"
	check "death $1: what the other one had made durable is there" \
		is_kept "kept-$1" "$1"
	check "death $1: this node writes for it" keep "for-$1" $((1000 + $1))
	announce "dead-$1"
	check "death $1: the other one is back" wait_peer "back-$1" $LONG_S
}

server() {
	for n in $BRICKS; do
		check "brick $n serves" serve_one "$n" || exit
	done
	announce bricks
	come first
	check "a volume over three bricks" make_volume || {
		diag "$(tail -40 /tmp/lvmlockd.log)"
		exit
	}
	announce volume
	check "it is mounted" mount_it || exit
	check "so it is at the other node" meet mounted $LONG_S || exit
	both_write
	split
	for i in $(seq "$DEATHS"); do
		death "$i"
	done
	check "the other's files have 0 differences" tree_is $MOUNT/two "$FILES"
	check "split: still no byte of it has landed" is_kept split 77
	check "the other node is gone" wait_peer gone $LONG_S
	check "it is unmounted" umount $MOUNT
	check "the file system is whole" fsck.gfs2 -n $LV
	leave
	for n in $BRICKS; do
		brick "$n"
		check "brick $n stops" stop_brick
	done
}

# ---- node two

write_on() { # other bytes each time, until a write fails
	while head -c 131072 /dev/urandom >/tmp/next &&
		dd if=/tmp/next of=$MOUNT/split bs=64k oflag=direct conv=notrunc \
			2>/dev/null; do
		:
	done
}

all_fenced() {
	for n in $BRICKS; do
		brick "$n"
		grep -q fenced "$CTL/last_error" || return
	done
}

lose_cluster() { # as if its daemons hung: the kernel has its locks still
	write_on &
	check "split: it writes" wait_for $LONG_S test -s $MOUNT/split
	announce split-writing
	kill -STOP "$COROSYNC" "$DLM"
	check "split: its disks are told why they are out" wait_for $LONG_S all_fenced
	announce split-waits
	check "split: the other node has seen it" wait_peer split-done $LONG_S
}

die() { # die N
	announce "ready-$1"
	check "death $1: the other node works" wait_peer "die-$1" $LONG_S
	die_and_boot
}

client() {
	check "bricks serve" wait_peer bricks $LONG_S || exit
	if [ "$BOOT" -eq 1 ]; then
		come first
		check "there is a volume" wait_peer volume $LONG_S || exit
	else
		last=$((BOOT - 1))
		check "death $last: the other one has gone on" \
			wait_peer "dead-$last" $LONG_S
		come "death $last"
	fi
	check "the volume is active" start_volume || exit
	check "it is mounted" mount_it || exit
	if [ "$BOOT" -eq 1 ]; then
		check "so it is at the other node" meet mounted $LONG_S || exit
		both_write
		check "what is to last is written" keep kept-1 1
		lose_cluster
		die 1
	fi
	check "death $last: what the other one has written is there" \
		is_kept "for-$last" $((1000 + last))
	check "death $last: and what was done to a file" is_exercised "during-$last"
	if [ "$last" -lt "$DEATHS" ]; then
		check "what is to last is written" keep "kept-$BOOT" "$BOOT"
		announce "back-$last"
		die "$BOOT"
	fi
	announce "back-$last"
	check "it is unmounted" umount $MOUNT
	leave
	announce gone
}

leave() {
	check "the volume is put away" lvm_here vgchange -qq --activate n shared
	check "and its locks" lvm_here vgchange -qq --lock-stop shared
	check "LVM's locks are gone" leave_locks
	check "the disks are detached" detach_all
	check "the node leaves the cluster" leave_cluster
}

run_nodes "$(all_bricks)"
