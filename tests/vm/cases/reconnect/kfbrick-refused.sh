# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A brick that refuses for a while, and what stays of it when it does not any
# more: of a flush that nobody asked for, of one whose connection died, of mappings
# in a new session, of a thin disk's first write. KFB_PARTS: some of its parts, by name.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickd-refusing brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200
MIB=3 # of 4 that there is room for: the driver flushes at half of it

# Until the driver has flushed by itself, which the brick refuses.
put() {
	: >$BRICK_LOG
	touch /tmp/refuse-flush
	_flushes=$(retained flushes)
	dd if=/tmp/input of="$DISK" bs=64k count=$((MIB * 16)) oflag=direct \
		conv=notrunc && wait_for $LONG_S brick_did refuse flush || return
	rm /tmp/refuse-flush
	[ "$(retained flushes)" -gt "$_flushes" ]
}

holds() {
	dd if="$DISK" bs=1M count=$MIB iflag=direct 2>/dev/null |
		cmp - /tmp/input
}

# Whoever asks for the next one hears of it, or else who detaches, although the
# brick finds nothing to complain about by then.
flush() {
	check "a disk with copies of writes is attached" attach_disk \
		--size 8M --queues 1 --retain-mb 4 || exit
	check "a flush of its own is refused" put
	check_fails "the next flush fails" xfs_io -c fsync "$DISK"
	check "it has been told once" xfs_io -c fsync "$DISK"
	check "no copy is left" test "$(retained copies)" -eq 0
	check "it has what was written" holds
	check "a flush of its own is refused once more" put
	check_fails "detaching says so" detach_disk
}

# What asks for mappings in a session does not go on in the next one.
restore() {
	check "a disk is attached" attach_disk --size 8M --queues 1 \
		--reconnect-s 600 || exit
	touch /tmp/refuse-map
	: >$BRICK_LOG
	check "the brick is killed" kill_brick
	check "it serves again, and refuses" serve_brick
	check "the disk's blocks are not mapped" \
		wait_for $LONG_S brick_did refuse map
	check "it is killed once more" kill_brick
	rm /tmp/refuse-map
	check "it serves, and refuses no more" serve_brick
	check "the disk is up" wait_for $LONG_S state_is up
	check "it is written" dd if=/tmp/input of="$DISK" bs=1M oflag=direct \
		conv=notrunc
	check "it has what was written" holds
	check "it is detached" detach_disk
}

# A MAP that is not answered in time is asked for again: the disk does not wait for
# one that never comes.
unanswered() {
	check "a disk is attached" attach_disk --size 8M --queues 1 \
		--reconnect-s 600 --timeout 2 || exit
	check "the brick is killed" kill_brick
	touch /tmp/hold-map
	: >$BRICK_LOG
	check "it serves again" serve_brick
	check "it is asked to map, and does not answer" \
		wait_for $LONG_S brick_did hold map
	check "it says what it waits for" wait_for $LONG_S \
		grep -q "does not answer to MAP" "$CTL/last_error"
	rm /tmp/hold-map
	check "it is asked once more: the disk is up" wait_for $LONG_S state_is up
	check "it is written" dd if=/tmp/input of="$DISK" bs=1M oflag=direct \
		conv=notrunc
	check "it has what was written" holds
	check "it is detached" detach_disk
	check "the brick is killed once more" kill_brick # what it holds, it waits for
	check "it serves" serve_brick
}

# Detached on its way back, a disk waits for no answer, and leaves nothing at the
# brick until a lease ends.
leave() {
	check "a disk is attached" attach_disk --size 8M --queues 1 \
		--reconnect-s 600 || exit
	check "the brick is killed" kill_brick
	touch /tmp/hold-map
	: >$BRICK_LOG
	check "it serves again" serve_brick
	check "it is asked to map, and does not answer" \
		wait_for $LONG_S brick_did hold map
	rm /tmp/hold-map
	: >$BRICK_LOG
	detach_disk &
	check "the disk is detached" wait_for 60 is_over $!
	check "its session has ended" wait_for 20 \
		grep -q 'ends: disconnect' $BRICK_LOG ||
		diag "$(cat $BRICK_LOG)"
	check "the brick is killed once more" kill_brick
	check "it serves" serve_brick
}

flush_requests() { # of the disk, that were answered
	awk '{ print $16 }' "/sys/block/${DISK#/dev/}/stat"
}

# A write with FUA that waits for its flush when a new session begins, in which its
# bytes are another queue's to flush. It waits for that one; told to be durable
# before, it would be followed by the flush that O_SYNC wants.
hand_over() {
	check "a disk with two queues is attached" attach_disk --size 8M \
		--queues 2 --reconnect-s 600 || exit
	_flushes=$(counter messages) _asked=$(flush_requests)
	kill -STOP "$BRICKD"
	xfs_io -d -s -c "pwrite 2m 4k" "$DISK" >/tmp/fua.out 2>&1 &
	_writer=$!
	check "a write with FUA asks to flush" \
		wait_for $LONG_S counter_above messages "$_flushes"
	touch /tmp/refuse-flush
	check "the brick is killed before it answers" kill_brick
	: >$BRICK_LOG
	check "it serves again, and refuses to flush" serve_brick
	check_fails "the write hears of it" wait $_writer
	check "before any flush of the disk" \
		test "$(flush_requests)" -eq "$_asked"
	rm /tmp/refuse-flush
	check_fails "so does who flushes the disk" xfs_io -c fsync "$DISK"
	check "the next flush is good" xfs_io -c fsync "$DISK"
	check "it is detached" detach_disk
}

put_4k() { # put_4k BLOCK: direct, not flushed
	dd if=/tmp/input of="$DISK" bs=4k count=1 seek=$(($1 * 512)) \
		oflag=direct conv=notrunc 2>/tmp/dd.err
}

# The answer to a flush is lost, and with it, later, the connection. What is
# written between the two is not covered by it.
lose_answer() {
	_lost=$(fault_count lost)
	put_4k 0 || return
	echo 1 >"$FAULT/lose_recv_nth"
	xfs_io -c fsync "$DISK" >/tmp/flush.out 2>&1 &
	FLUSH=$!
	wait_for $LONG_S fault_count_above lost "$_lost" && put_4k 1
}

# The disk comes back, asks for the old answer again, and for a new flush; answers
# are late enough for that.
cut_link() {
	_cuts=$(fault_count link_cuts)
	echo 2000 >"$FAULT/delay_ms"
	echo 1000 >"$FAULT/delay_permille"
	echo 1 >"$FAULT/cut_nth"
	dd if="$DISK" of=/dev/null bs=4k count=1 iflag=direct 2>/tmp/dd.err &&
		fault_count_above link_cuts "$_cuts"
}

# The brick answers a flush that it has executed before from what it remembers,
# well; and refuses the next one, which covers more.
old_answer() {
	check "a brick with a long lease serves" \
		restart_brick brickd-refusing "lease-ms = 600000"
	fault_setup
	check "a disk is attached" attach_disk --size 8M --queues 1 \
		--reconnect-s 600 --timeout 200 --retain-mb 0 \
		--provider 'fault;verbs' || exit
	check "the answer to a flush is lost, and more is written" lose_answer
	: >$BRICK_LOG
	touch /tmp/refuse-flush
	check "the disk comes back over another connection" cut_link
	check_fails "the old answer does not complete the flush" wait $FLUSH
	check "the brick has refused that one" brick_did refuse flush
	rm /tmp/refuse-flush
	echo 0 >"$FAULT/delay_permille"
	check "the next flush is good" xfs_io -c fsync "$DISK"
	fault_end detach_disk
}

# What somebody else has allocated meanwhile is not freed when it cannot be had.
first_write() {
	ctl free 0x0+4 >/tmp/free.out 2>&1 # of the other parts
	check "a thin disk is attached" attach_disk --size 8M --thin || exit
	check "another client allocates one" other alloc 0x0+1
	check "and writes it" other write 0x0 -i /tmp/other
	touch /tmp/refuse-map
	check_fails "the disk's first write fails" dd if=/tmp/input \
		of="$DISK" bs=64k count=1 oflag=direct conv=notrunc
	rm /tmp/refuse-map
	check "what was there before is there" eval \
		'other read 0x0 --length 64K | cmp - /tmp/other'
	check "it is detached" detach_disk
}

# A brick that is there and says nothing; what was said of an older loss is not
# said of this one.
silent() {
	check "a brick with a short lease serves" \
		restart_brick brickd-refusing "lease-ms = 2000"
	check "a disk is attached" attach_disk --size 8M --queues 1 \
		--reconnect-s 600 || exit
	check "the brick is killed" kill_brick
	check "the disk is connecting" wait_for $LONG_S state_is connecting
	diag "$(cat "$CTL/last_error")"
	check "the brick serves again" serve_brick
	check "the disk is up" wait_for $LONG_S state_is up
	kill -STOP "$BRICKD"
	check "a brick that is stopped is away" wait_for $LONG_S state_is connecting
	check "it is known why" \
		grep -q 'did not answer in time' "$CTL/last_error"
	kill -CONT "$BRICKD"
	check "the disk is up again" wait_for $LONG_S state_is up
	check "it is detached" detach_disk
}

disk_setup
check "a brick that refuses serves" restart_brick brickd-refusing || exit
head -c $((MIB << 20)) /dev/urandom >/tmp/input
head -c 65536 /dev/urandom >/tmp/other
for part in ${KFB_PARTS:-flush old_answer restore unanswered leave hand_over
	first_write silent}; do
	$part
done
disk_end
