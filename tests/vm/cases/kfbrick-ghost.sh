# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Ghost writes: what an old connection still has under way when a disk has come
# back over a new one never reverts what was written since.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200
ROUNDS=${KFB_ROUNDS:-2}
BLOCKS="0 1 2 3"
KIB=16

put() { # put FILE: into each block, direct, not flushed
	for _block in $BLOCKS; do
		dd if="$1" of="$DISK" bs=${KIB}k count=1 \
			seek=$((_block * 2048 / KIB)) skip="$_block" \
			oflag=direct conv=notrunc 2>/tmp/dd.err || return
	done
}

put_new() { # durably
	put /tmp/new && xfs_io -c fsync "$DISK"
}

holds() { # holds FILE: each block's first bytes are of that file
	: >/tmp/output
	for _block in $BLOCKS; do
		dd if="$DISK" bs=${KIB}k count=1 skip=$((_block * 2048 / KIB)) \
			iflag=direct >>/tmp/output || return
	done
	cmp "$1" /tmp/output
}

# The answer to a flush is lost. Until the driver finds it overdue the connection
# is good: what is written meanwhile completes, and is on its way for as long as
# the fault layer holds it back.
lose_answer() {
	_lost=$(fault_count lost)
	dd if=/dev/zero of="$DISK" bs=4k count=1 seek=256 oflag=direct \
		conv=notrunc 2>/tmp/dd.err || return
	echo 1 >"$FAULT/lose_recv_nth"
	xfs_io -c fsync "$DISK" &
	FLUSH=$!
	wait_for $LONG_S fault_count_above lost "$_lost"
}

put_old() { # and see that all of it is held back
	_held=$(fault_count held_lines)
	put /tmp/old || return
	_held=$(($(fault_count held_lines) - _held))
	echo "$_held lines of 64 bytes are held back"
	[ "$_held" -eq $((4 * KIB * 16)) ]
}

# Power off: what the new connection carries arrives at once.
come_back() {
	echo 0 >"$FAULT/power"
	wait $FLUSH
}

# Connections end, and what they had under way arrives, some of it or all.
let_go() {
	_cuts=$(fault_count power_cuts)
	echo 1 >"$FAULT/power_cut"
	fault_count_above power_cuts "$_cuts"
}

round() { # round N
	head -c $((4 * KIB << 10)) /dev/urandom >/tmp/old
	head -c $((4 * KIB << 10)) /dev/urandom >/tmp/new
	echo 1 >"$FAULT/power"
	check "$1: a disk is attached" attach_disk --size 8M --queues 1 \
		--reconnect-s 600 --timeout 20 --retain-mb $(($1 % 2 * 8)) \
		--provider 'fault;verbs' || exit
	check "$1: the answer to a flush is lost" lose_answer
	drained_since=$(fault_count drained_lines)
	check "$1: old bytes are written and held back" put_old
	check "$1: the disk comes back over another connection" come_back
	check "$1: they have arrived before that" \
		fault_count_above drained_lines "$drained_since"
	check "$1: newer bytes are written, durably" put_new
	check "$1: newer bytes are read" holds /tmp/new
	check "$1: whatever is still held back is let go" let_go
	check "$1: newer bytes are there and not reverted" holds /tmp/new
	check "$1: it is detached" detach_disk
	check "$1: it is attached again" attach_disk --size 8M --queues 1
	check "$1: newer bytes are what stays" holds /tmp/new
	check "$1: it is detached again" detach_disk
}

fault_setup keep_on_close=1
disk_setup "lease-ms = 600000"
i=0
while [ $i -lt "$ROUNDS" ]; do
	i=$((i + 1))
	round $i
done
fault_end disk_end
