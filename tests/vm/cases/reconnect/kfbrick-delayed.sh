# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Delayed writes: what an old connection still has under way when a disk has come
# back over a new one never reverts what was written since; nor do copies that are
# written again when one queue of two dies, or a client that dies meanwhile.
# KFB_PARTS: some of its parts, by name.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_tcp kfabric_fault kfbrick
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
		--reconnect-s 600 --timeout 40 --retain-mb $(($1 % 2 * 8)) \
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

rounds() {
	i=0
	while [ $i -lt "$ROUNDS" ]; do
		i=$((i + 1))
		round $i
	done
}

# ---- one queue of two dies, the other lives on; copies of writes are kept

of_queue() { # of_queue QUEUE NAME: its counter
	sed -n "s/^queue=$1 .*\\b$2=\\([0-9]*\\).*/\\1/p" "$CTL/counters"
}

read_4k() { # read_4k BLOCK
	dd if="$DISK" bs=4k count=1 skip=$(($1 * 512)) iflag=direct \
		2>/tmp/dd.err
}

put_4k() { # put_4k FILE BLOCK [OPTION]: not flushed
	# shellcheck disable=SC2086 # an option, or none
	xfs_io -d $3 -c "pwrite -i $1 $(($2 * 2 << 20)) 4k" "$DISK"
}

has_4k() { # has_4k FILE BLOCK
	read_4k "$2" >/tmp/output && cmp "$1" /tmp/output
}

find_blocks() { # FIRST and SECOND are blocks of the first queue and the second
	FIRST='' SECOND=''
	for _block in $BLOCKS; do
		_reads=$(of_queue 0 reads)
		read_4k "$_block" >/dev/null || return
		if [ "$(of_queue 0 reads)" -gt "$_reads" ]; then
			FIRST=$_block
		else
			SECOND=$_block
		fi
	done
	echo "block $FIRST is the first queue's, $SECOND the second's"
	[ -n "$FIRST" ] && [ -n "$SECOND" ]
}

# Where an acknowledgement proves nothing: what a queue had not flushed when it
# died is suspect, and written again.
prove_nothing() {
	[ "$CARRIER" = verbs ] || return 0
	use_carrier libfabric-tcp
	# shellcheck disable=SC2034 # of disk.sh
	BRICK_IP=127.0.0.1
	carrier_setup lo && restart_brick brickd "lease-ms = 600000"
}

attach_two_queues() {
	for _file in older newer other; do
		head -c 4096 /dev/urandom >/tmp/$_file
	done
	attach_disk --size 8M --queues 2 --reconnect-s 600 --timeout 100 \
		--retain-mb 8 --provider 'fault;tcp' && find_blocks &&
		xfs_io -c fsync "$DISK"
}

# With the next operation, which is a read of one of its blocks.
first_queue_dies() {
	_cuts=$(fault_count link_cuts)
	echo 1 >"$FAULT/cut_nth"
	read_4k "$FIRST" >/tmp/read &
	READER=$!
	wait_for $LONG_S fault_count_above link_cuts "$_cuts"
}

second_queue_stalls() { # at a write that is newer than a copy of its bytes
	_stalled=$(fault_count stalled)
	echo 1 >"$FAULT/stall"
	echo 1 >"$FAULT/stall_nth"
	put_4k /tmp/newer "$SECOND" >/tmp/newer.out 2>&1 &
	NEWER=$!
	wait_for $LONG_S fault_count_above stalled "$_stalled"
}

write_goes_on() {
	echo 0 >"$FAULT/stall"
	wait $NEWER || {
		cat /tmp/newer.out
		return 1
	}
}

alone() {
	check "alone: a brick serves whose acknowledgements prove nothing" \
		prove_nothing || exit
	check "alone: a disk with two queues is attached" attach_two_queues ||
		exit
	check "alone: a block of the first is written" put_4k /tmp/other "$FIRST"
	check "alone: and one of the second" put_4k /tmp/older "$SECOND"
	check "alone: a newer write of it is under way" second_queue_stalls
	check "alone: the first queue dies" first_queue_dies
	check "alone: it is back, and copies are to be written" \
		wait_for $LONG_S state_is replaying
	check "alone: no copy is written meanwhile" \
		test "$(retained replayed)" -eq 0
	check "alone: the newer write goes on and ends well" write_goes_on
	check "alone: the disk is up again" wait_for $LONG_S state_is up
	check "alone: who waited reads what was written" wait "$READER"
	check "alone: and it is that" cmp /tmp/other /tmp/read
	check "alone: both newest copies were written" \
		test "$(retained replayed)" -eq 2
	check "alone: newer bytes are there and not reverted" \
		has_4k /tmp/newer "$SECOND"
	check "alone: it is detached" detach_disk
	check "alone: it is attached again" attach_disk --size 8M --queues 2
	check "alone: newer bytes are what stays" has_4k /tmp/newer "$SECOND"
	check "alone: other bytes, too" has_4k /tmp/other "$FIRST"
	check "alone: it is detached again" detach_disk
}

# A FUA write over one that was not flushed, in a block of the second queue. O_SYNC
# sends a flush of the disk behind it, which would leave no copy of either: the
# first queue has something to flush, and its answer, the second, is lost.
fua_over() {
	_lost=$(fault_count lost)
	put_4k /tmp/older "$SECOND" && put_4k /tmp/other "$FIRST" || return
	echo 2 >"$FAULT/lose_recv_nth"
	put_4k /tmp/newer "$SECOND" -s >/tmp/newer.out 2>&1 &
	NEWER=$!
	wait_for $LONG_S fault_count_above lost "$_lost"
}

is_back() {
	[ "$(of_queue 0 connects)" -gt "$CONNECTS" ]
}

is_at_third_copy_or_up() {
	fault_count_above stalled "$STALLED" || state_is up
}

# The third copy is stalled for good: the client is dead with two of three
# written. If there are no three, it dies later.
client_dies() {
	STALLED=$(fault_count stalled)
	echo 1 >"$FAULT/stall"
	echo 3 >"$FAULT/stall_nth"
	CONNECTS=$(of_queue 0 connects)
	first_queue_dies || return
	wait_for $LONG_S is_back || return
	wait_for $LONG_S is_at_third_copy_or_up || return
	REPLAYED=$(retained replayed)
	echo 1 >"$FAULT/power_off"
	echo 1 >"$FAULT/power_cut"
	brickctl detach --force "$DISK"
	wait $READER $NEWER
	for _knob in stall stall_nth power_off; do
		echo 0 >"$FAULT/$_knob"
	done
	true
}

dies() {
	check "dies: a brick serves whose acknowledgements prove nothing" \
		prove_nothing || exit
	check "dies: a disk with two queues is attached" attach_two_queues ||
		exit
	check "dies: a FUA write goes over an unflushed one" fua_over
	check "dies: there is a copy of each, and another" \
		test "$(retained copies)" -eq 3
	check "dies: a queue dies, and then the client" client_dies
	check "dies: one copy was written, of what is not durable" \
		test "$REPLAYED" -eq 1
	kill_brick
	check "dies: the brick has another session" serve_brick
	check "dies: a disk is attached there" attach_disk --size 8M --queues 2
	check "dies: the FUA write is there" has_4k /tmp/newer "$SECOND"
	check "dies: it is detached" detach_disk
}

fault_setup keep_on_close=1
disk_setup "lease-ms = 600000"
for part in ${KFB_PARTS:-rounds alone dies}; do
	$part
done
fault_end disk_end
