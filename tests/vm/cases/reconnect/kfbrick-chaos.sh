# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Detach, unload, removal of the RDMA device and loss of the brick at random
# moments of a disk under load: nothing hangs and nothing is left. KFB_ROUNDS
# says how often, KFB_SEED which moments.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 3600

LONG_S=200
ROUNDS=${KFB_ROUNDS:-7}
SEED=${KFB_SEED:-20149}

next_random() { # next_random N: R is 0 to N - 1, the next of a fixed row
	SEED=$(((SEED * 1103515245 + 12345) % 2147483648))
	R=$((SEED / 65536 % $1))
}

pause() { # up to some seconds
	next_random 30
	sleep $((R / 10)).$((R % 10))
}

# A node of our own: dd makes a file where the system's has just gone, and the next disk
# gets none there.
own_node() {
	IFS=: read -r _major _minor <"${CTL%/kfbrick}/dev" && rm -f /tmp/disk &&
		busybox mknod /tmp/disk b "$_major" "$_minor"
}

load() { # until the disk fails or is gone
	while dd if=/tmp/input of=/tmp/disk bs=64k oflag=direct conv=fsync,notrunc \
		2>/dev/null; do
		[ ! -e /tmp/stop ] || return
	done
}

force_detach() {
	timeout $LONG_S brickctl detach --force "$DISK"
	# What could not be made durable is told; it is gone all the same.
	wait_for $LONG_S test ! -e "$DISK"
}

rmmod_if_loaded() {
	! grep -q '^kfbrick ' /proc/modules || rmmod kfbrick
}

end_load() {
	touch /tmp/stop
	wait_for $LONG_S is_over "$LOAD"
}

unload() { # nobody has the disk open
	timeout $LONG_S rmmod kfbrick
}

# Soft RoCE lets nobody take a device away from a process that has it open: the
# disk loses it first, then brickd is killed.
no_device() {
	[ "$PROVIDER" = verbs ] || {
		pause
		kill_brick
		return
	}
	rdma link delete rxe0 &
	_delete=$!
	pause
	kill_brick
	wait_for $LONG_S is_over $_delete && [ ! -e /sys/class/infiniband/rxe0 ]
}

strike() { # strike WHICH: what goes wrong while the disk is written
	case $1 in
	0) force_detach ;;
	1) kill_brick && force_detach ;;
	2) no_device && force_detach ;;
	3) end_load && unload ;;
	4) end_load && kill_brick && unload ;;
	5) end_load && no_device && unload ;;
	6) kill_brick && serve_brick && pause && force_detach ;;
	esac
}

again() { # whatever is missing for another round
	carrier_setup dummy0 && modprobe kfbrick || return
	kill -0 "$BRICKD" 2>/dev/null || serve_brick
}

disk_setup "lease-ms = 3000"
head -c $((8 << 20)) /dev/urandom >/tmp/input
round=0
while [ $round -lt "$ROUNDS" ]; do
	which=$((round % 7))
	round=$((round + 1))
	rm -f /tmp/stop
	next_random 3
	queues=$((R + 1))
	next_random 2
	# A session that had no connection when its disk went has a lease.
	check "round $round: a disk with $queues queues is attached" \
		wait_for 30 attach_disk --size 16M --queues $queues \
		--retain-mb $((R * 8)) --reconnect-s 600 || exit
	check "round $round: it has a node of our own" own_node || exit
	load &
	LOAD=$!
	pause
	check "round $round: kind $which ends" strike $which
	check "round $round: so does the load" wait_for $LONG_S is_over $LOAD
	check "round $round: the driver unloads" wait_for $LONG_S \
		rmmod_if_loaded
	check "round $round: no object is left open" wait_for $LONG_S \
		fabric_idle
	check "round $round: all is there again" again || exit
done
disk_end
