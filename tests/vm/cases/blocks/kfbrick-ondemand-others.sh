# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A disk that maps on demand, when the brick does not do what it asks for at
# once, when the session is lost, and when others want its blocks. KFB_PARTS: some
# of its parts, by name.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickd-refusing brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 1500

LONG_S=200
LEASE="lease-ms = 60000"

attach_for() { # attach_for SECONDS OPTION...: with that timeout
	_timeout=$1
	shift
	DISK=$(brickctl_as a "$_timeout" attach "$@") || return
	CTL=/sys/block/${DISK#/dev/}/kfbrick
	wait_for 10 test -b "$DISK"
}

block() { # block read|write N: some KiB of it
	case $1 in
	read) dd if="$DISK" of=/dev/null bs=64k count=1 skip=$(($2 * 32)) \
		iflag=direct ;;
	write) dd if=/tmp/input of="$DISK" bs=64k count=1 seek=$(($2 * 32)) \
		oflag=direct conv=notrunc ;;
	esac
}

each() { # each read|write N...
	_do=$1
	shift
	for _block; do
		block "$_do" "$_block" || return
	done
}

sleeps_for_good() { # sleeps_for_good PROCESS: it waits for the disk
	[ "$(awk '{ print $3 }' "/proc/$1/stat")" = D ]
}

# ---- a MAP that is answered late

says_no_answer() {
	dmesg_since "# late" | grep -q "does not answer to MAP"
}

late() {
	check "a disk that waits for two seconds is attached" \
		attach_for 2 --size 16 --map-cache 4 || exit
	check "some blocks are used" each read 0 4
	echo "# late" >/dev/kmsg
	kill -STOP "$BRICKD"
	block read 8 >/tmp/late.out 2>&1 &
	_reader=$!
	check "a MAP is not answered in time" wait_for $LONG_S says_no_answer
	kill -CONT "$BRICKD"
	check "the block is read all the same" wait $_reader
	check "it is mapped once" mapped_is "$(cached mapped)"
	check "it is detached" detach_disk
}

# ---- a brick that has no memory for a while

borne() { # borne map|unmap COMMAND...
	_op=$1
	shift
	: >$BRICK_LOG
	touch "/tmp/refuse-$_op"
	"$@" >/tmp/while.out 2>&1 &
	_user=$!
	check "$_op is refused" wait_for $LONG_S brick_did refuse "$_op"
	rm "/tmp/refuse-$_op"
	check "$_op: that passes" wait $_user
}

refused_for_a_while() { # refused_for_a_while map|unmap COMMAND...
	borne "$@"
	check "disk and brick agree" mapped_is "$(cached mapped)"
}

refused_for_good() { # refused_for_good map|unmap COMMAND...
	_op=$1
	shift
	touch "/tmp/refuse-$_op"
	check_fails "$_op: one that lasts fails" "$@"
	rm "/tmp/refuse-$_op"
}

refused() {
	check "a brick that refuses serves" restart_brick brickd-refusing "$LEASE"
	check "a disk with two blocks mapped is attached" \
		attach_for 2 --size 16 --map-cache 2 --queues 2 || exit
	check "three blocks are used" each write 0 4 8
	refused_for_a_while unmap block read 12
	refused_for_good unmap block read 2
	check "what was not unmapped is mapped" mapped_is 2
	check "and used" each read 12 2
	check "disk and brick still agree" mapped_is 2
	refused_for_a_while map block read 6
	refused_for_good map block read 10
	check "it says why" grep -q "no memory" "$CTL/last_error"
	check "it is read when there is memory" each read 10 0 4 8
	check "it is detached" detach_disk
	check "brickd serves again" restart_brick brickd "$LEASE"
}

# What a discard leaves of a mapping is made again as after a loss: it holds data.
discards_refused() {
	check "a brick that refuses serves" restart_brick brickd-refusing "$LEASE"
	_before=$(listed)
	check "blocks are allocated" ctl alloc 96M+8
	check "a thin disk maps them as one" attach_for 5 --base 96M --size 8 \
		--thin || exit
	check "they are written" each write 0 4 7
	borne map blkdiscard -o 8M -l 2M "$DISK"
	check "one has been freed" test "$(listed)" -eq $((_before + 7))
	check "the others are read" each read 0 7
	check "it is detached" detach_disk
	ctl free 96M+4 && ctl free 106M+3
	check "brickd serves again" restart_brick brickd "$LEASE"
}

is_written() { # is_written N...: each holds what block() writes
	for _block; do
		dd if="$DISK" bs=64k count=1 skip=$((_block * 32)) \
			iflag=direct | cmp -n 65536 - /tmp/input || return
	done
}

# A disk has discarded a part of a mapping, and cannot map what is around it again.
strand() {
	check "blocks are allocated" ctl alloc 96M+8
	check "a thin disk maps them as one, and waits for five seconds" \
		attach_for 5 --reconnect-s 5 --base 96M --size 8 --thin || exit
	check "they are written" each write 0 4 7
	touch /tmp/refuse-map
	check_fails "what is around a discard cannot be mapped again" \
		blkdiscard -o 8M -l 2M "$DISK"
	check "the disk has failed" wait_for $LONG_S state_is failed
}

# The brick may map it later: the disk fails, and is taken up again by order.
discard_strands() {
	check "a brick that refuses serves" restart_brick brickd-refusing "$LEASE"
	strand
	check "it says why" grep -q "mapped again.*no memory" "$CTL/last_error"
	rm /tmp/refuse-map
	check "it is taken up again" brickctl reattach "$DISK"
	check "it is up" wait_for $LONG_S state_is up
	check "what was written is there" is_written 0 7
	check "it is detached" detach_disk
	ctl free 96M+4 && ctl free 106M+3
	check "brickd serves again" restart_brick brickd "$LEASE"
}

other_gets() { # other_gets VA: another client writes there, when the lease is over
	wait_for $LONG_S other write "$1" -i /tmp/other
}

# Without a cache, too, a block that is another's by now is the disk's end.
stranded_taken() {
	check "a brick that refuses serves" restart_brick brickd-refusing \
		"lease-ms = 2000"
	strand
	rm /tmp/refuse-map
	check "another client gets one of them" other_gets 110M
	check "the disk is taken up again" brickctl reattach "$DISK"
	check_fails "it does not read that one" block read 7
	check "it has failed for good" wait_for $LONG_S state_is dead
	check "it knows why" grep -q "changed hands" "$CTL/last_error"
	check_fails "detaching says so" detach_disk
	ctl free 96M+4 && ctl free 106M+3
	check "brickd serves again" restart_brick brickd "$LEASE"
}

# The brick dies when it has freed a block, and before it has said so.
free_in_doubt() {
	check "a brick that dies of a FREE serves" \
		restart_brick brickd-refusing "$LEASE"
	_before=$(listed)
	check "blocks are allocated" ctl alloc 96M+8
	check "a thin disk maps them as one" attach_disk --base 96M --size 8 \
		--thin || exit
	check "they are written" each write 0 4 7
	touch /tmp/die-free
	blkdiscard -o 8M -l 2M "$DISK" >/tmp/doubt.out 2>&1 &
	_discarder=$!
	check "the brick dies of a discard" wait_for $LONG_S is_over "$BRICKD"
	check "it serves again" serve_brick
	check "the discard ends" wait_for $LONG_S is_over $_discarder
	check "the discard is good" wait $_discarder
	check "the disk is up" state_is up
	check "the block has been freed" test "$(listed)" -eq $((_before + 7))
	check "the others hold what was written" is_written 0 7
	check "it is detached" detach_disk
	ctl free 96M+4 && ctl free 106M+3
	check "brickd serves again" restart_brick brickd "$LEASE"
}

has_held() { # has_held N: MAPs
	[ "$(grep -c "^hold: map" $BRICK_LOG)" -ge "$1" ]
}

# MAPs are not answered: in the end there is no credit for more, and one for a FLUSH.
unanswered() {
	check "a brick that refuses serves" restart_brick brickd-refusing "$LEASE"
	check "a disk that waits for a second is attached" \
		attach_for 1 --size 16 --map-cache 4 --queues 1 || exit
	check "a block is written" block write 0
	: >$BRICK_LOG
	touch /tmp/hold-map
	block read 8 >/tmp/held.out 2>&1 &
	_reader=$!
	check "requests use up the credits" wait_for $LONG_S has_held 13
	sleep 3
	check "there are no more" eval "! has_held 14"
	_flushes=$(counter messages)
	xfs_io -c fsync "$DISK" >/tmp/flush.out 2>&1 &
	_flusher=$!
	check "a flush is answered" wait_for 60 is_over $_flusher
	check "it is good" wait $_flusher
	check "it was a message" test "$(counter messages)" -gt "$_flushes"
	brickctl detach --force "$DISK" >/tmp/detach.out 2>&1 &
	_detacher=$!
	check "it is detached all the same" wait_for 60 is_over $_detacher
	check "who read has an answer" wait_for $LONG_S is_over $_reader
	rm /tmp/hold-map
	check "the brick, which would wait for them, is killed" kill_brick
	check "brickd serves again" restart_brick brickd "$LEASE"
}

# ---- a session that is lost

invalidate() {
	check "a disk with eight blocks mapped is attached" attach_disk \
		--size 16 --map-cache 8 --retain-mb 4 || exit
	check "seven are written and flushed" eval \
		'each write 0 2 4 6 8 10 12 && xfs_io -c fsync "$DISK"'
	check "another is written" block write 14
	check "eight are mapped" mapped_is 8
	check "the brick is killed" kill_brick
	check "it serves again" serve_brick
	check "the disk is up again" wait_for $LONG_S state_is up
	check "only what may be written again is mapped" mapped_is 1
	check "the others are there all the same" each read 0 2 4 6 8 10 12
	check "a flush is good" xfs_io -c fsync "$DISK"
	check "and what was not flushed" is_written 14
	check "it is detached" detach_disk
}

# ---- a second disk of the same client

twice() {
	check "a disk is attached" attach_disk --size 16 --map-cache 2 || exit
	check "the same range again is refused" says "blocks of this range" \
		brickctl_as a 2 attach --size 16 --map-cache 2
	check "a part of it, too, mapped as a whole or not" says \
		"blocks of this range" brickctl_as a 2 attach --base 30M --size 4
	_first=$DISK
	check "the range behind it is not" attach_disk --base 32M --size 1 \
		--map-cache 1
	check "into which the first one does not grow" says \
		"blocks of this range" brickctl attach --resize "$_first" --size 17
	check "it is detached" detach_disk
	check "then it grows" brickctl attach --resize "$_first" --size 17
	check "which is detached, too" detach_disk "$_first"
	check "and can be attached again" attach_disk --size 16 --map-cache 2
	check "and detached" detach_disk
}

# ---- somebody else's blocks

busy() {
	check "a disk that waits for its brick for ever is attached" \
		attach_for 2 --size 16 --map-cache 2 --fail never || exit
	_others=$(other attach --base 16M --size 1)
	check "another client has a block of it" test -b "$_others"
	block read 8 >/tmp/busy.out 2>&1 &
	_reader=$!
	check "who wants that block does not wait for ever" \
		wait_for $LONG_S is_over $_reader || brickctl detach --force "$DISK"
	check_fails "but is told" wait $_reader
	check "it is known why" grep -q "somebody else" "$CTL/last_error"
	check "other blocks are read" each read 0 4
	check "it is detached" detach_disk
	check "one that waits for minutes is attached" \
		attach_for 300 --size 16 --map-cache 2 --fail never || exit
	dd if="$DISK" of=/dev/null bs=2M count=1 skip=8 iflag=direct \
		>/tmp/busy.out 2>&1 &
	_reader=$!
	check "somebody waits for that block" \
		wait_for $LONG_S sleeps_for_good $_reader
	brickctl detach --force "$DISK" >/tmp/detach.out 2>&1 &
	_detach=$!
	check "it is detached meanwhile" wait_for $LONG_S is_over $_detach
	check "without a loss" wait $_detach
	check "the other disk is detached" detach_disk "$_others"
}

has_said() { # has_said TEXT FILE
	grep -qF -e "$1" "$2"
}

# Who has gone without a word has its blocks until its lease is over.
waits() {
	check "there are blocks" ctl alloc 96M+4 || exit
	ctl map 96M+4 --rw --exclusive --hold 3600 >/tmp/hold.out 2>&1 &
	check "somebody maps all of them" wait_for $LONG_S has_said REMOTE /tmp/hold.out
	_holder=$(pidof brickctl)
	check "who does not wait is refused" \
		says "blocks of the range are mapped" ctl attach --base 96M --size 4
	ctl attach --base 96M --size 4 --wait-s 3600 \
		>/tmp/waits.disk 2>/tmp/waits.err &
	_waiter=$!
	check "who waits says so" wait_for $LONG_S \
		has_said "waiting for up to 3600 s" /tmp/waits.err
	check "the other one is killed" kill -KILL "$_holder"
	check "its blocks are a disk after that" wait $_waiter
	check "which is detached" detach_disk "$(cat /tmp/waits.disk)"
}

taken() {
	check "a disk with two blocks mapped is attached" attach_disk \
		--size 16 --map-cache 2 || exit
	check "three blocks are written" each write 0 2 4
	check "another client gets the one that is not mapped" \
		other write 0x0 -i /tmp/other
	check "and not one that is" says "mapped" other write 8M -i /tmp/other
	check_fails "the disk cannot read it any more" block read 0
	check "it has failed for good" wait_for $LONG_S state_is dead
	check "it knows why" grep -q "changed hands" "$CTL/last_error"
	check_fails "detaching says so" detach_disk
	check "the other client's bytes are there" eval \
		'other read 0x0 --length 64K | cmp - /tmp/other'
}

discarded() {
	_before=$(listed)
	check "a thin disk with two blocks mapped is attached" attach_disk \
		--base 64M --size 16 --thin --map-cache 2 || exit
	check "four blocks are written" each write 0 2 4 6
	check "one that is not mapped is discarded" \
		blkdiscard -o 4M -l 2M "$DISK"
	check "and freed" test "$(listed)" -eq $((_before + 3))
	check "another client gets the other one" other write 64M -i /tmp/other
	check_fails "the disk cannot discard it any more" \
		blkdiscard -o 0 -l 2M "$DISK"
	check "it has failed for good" wait_for $LONG_S state_is dead
	check_fails "detaching says so" detach_disk
	check "the other client's bytes are there" eval \
		'other read 64M --length 64K | cmp - /tmp/other'
}

disk_setup "$LEASE"
head -c 65536 /dev/urandom >/tmp/input
head -c 65536 /dev/urandom >/tmp/other
for part in ${KFB_PARTS:-late refused discards_refused discard_strands stranded_taken free_in_doubt unanswered invalidate twice busy waits discarded taken}; do
	$part
done
disk_end
