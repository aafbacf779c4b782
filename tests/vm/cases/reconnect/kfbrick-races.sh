# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What comes between two steps of the driver, and what fails for a moment only:
# forced by a probe. KFB_PARTS: some of its parts, by name.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick kfi_probe
# BIN: brickd brickd-refusing brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=${KFB_LONG_S:-200}
SEG=16384 # bytes that can be mapped as one, of a device of the last part

resize() { # resize N: blocks
	brickctl attach --resize "$DISK" --size "$1" >/tmp/resize.out 2>&1
}

KIB=32    # of a write: eight pages

put() { # put BLOCK: its beginning
	dd if=/tmp/input of="$DISK" bs=${KIB}k count=1 \
		seek=$(($1 * 2048 / KIB)) oflag=direct conv=notrunc
}

holds() { # holds BLOCK
	dd if="$DISK" bs=${KIB}k count=1 skip=$(($1 * 2048 / KIB)) iflag=direct \
		2>/dev/null | cmp -n $((KIB << 10)) - /tmp/input
}

held_or_over() { # held_or_over FUNCTION PROCESS
	probed_above "$1" 0 || is_over "$2"
}

# Work that is queued when nobody waits for it any more runs on what is freed. It
# is queued under the lock that the end of the session takes: there is nothing in
# between, or else somebody is held there now, and detached under his feet.
resize_detach() {
	check "a disk is attached" attach_disk --size 4 --queues 1 || exit
	probe count kfbk_map_work
	probe delay wait_for_completion 500 by=kfbk_resize_wait
	probe hold queue_work_on by=kfbk_resize_wait
	resize 8 &
	_resizer=$!
	check "it is to grow" wait_for $LONG_S \
		held_or_over queue_work_on $_resizer
	check "it is detached" detach_disk
	_runs=$(probed kfbk_map_work)
	probe release
	check "who let it grow is answered" wait_for $LONG_S is_over $_resizer
	check "no work is done for it after that" \
		test "$(probed kfbk_map_work)" -eq "$_runs"
	probe clear
}

# Likewise of who takes a disk up again that has failed.
reattach_detach() {
	check "a disk is attached" attach_disk --size 4 --queues 1 \
		--reconnect-s 0 || exit
	check "the brick stops" stop_brick
	check "the disk has failed" wait_for $LONG_S state_is failed
	probe count kfbk_session_work_fn
	probe hold kfbk_kick by=kfbk_reattach
	brickctl reattach "$DISK" >/tmp/reattach.out 2>&1 &
	_taker=$!
	check "it is taken up again" wait_for $LONG_S \
		held_or_over kfbk_kick $_taker
	check "it is detached" detach_disk
	_runs=$(probed kfbk_session_work_fn)
	probe release
	check "who took it up is answered" wait_for $LONG_S is_over $_taker
	check "no work is done for it after it has gone" \
		test "$(probed kfbk_session_work_fn)" -eq "$_runs"
	probe clear
	check "the brick serves again" serve_brick
}

open_it() { # and keep it open
	(exec 3<"$DISK" && : >/tmp/opened && exec sleep 600) 2>/tmp/open.err &
	OPENER=$!
}

opened_or_over() {
	probed_above kfbk_disk_del 0 || return 1
	[ -e /tmp/opened ] || is_over $OPENER
}

# Between the look at who has the disk open and its end nobody can open it.
open_detach() {
	check "a disk is attached" attach_disk --size 4 --queues 1 || exit
	rm -f /tmp/opened
	probe delay kfbk_move 4000 by=brickctl
	probe hold kfbk_disk_del
	brickctl detach "$DISK" >/tmp/detach.out 2>&1 &
	_detacher=$!
	check "it is about to be detached" wait_for $LONG_S \
		probed_above kfbk_move 0
	open_it
	check "who would open it has an answer before it goes" wait_for \
		$LONG_S opened_or_over
	probe release
	wait $_detacher
	_status=$?
	check "nobody has opened what was detached" eval \
		"[ ! -e /tmp/opened ] || [ $_status -ne 0 ]"
	check "who comes too late is refused" wait_for $LONG_S is_over $OPENER
	kill $OPENER 2>/dev/null
	probe clear
	[ $_status -eq 0 ] || check "it is detached" detach_disk
}

# Who sends a uevent may wait for who waits for memory; what is written back to
# free some may need the map work.
uevent() {
	ctl free 0x0+8 >/tmp/free.out 2>&1
	check "a thin disk is attached" attach_disk --size 4 --queues 1 \
		--thin || exit
	probe hold kobject_uevent_env arg1=2 # KOBJ_CHANGE
	resize 8 &
	_resizer=$!
	check "it grows, and its uevent has to wait" wait_for $LONG_S \
		probed_above kobject_uevent_env 0
	put 2 >/tmp/dd.out 2>&1 &
	_writer=$!
	check "a block's first write does not" wait_for 60 is_over $_writer
	probe release
	wait $_writer
	check "who let it grow is answered" wait_for $LONG_S is_over $_resizer
	check "it has grown" test "$(cat "$CTL/blocks")" -eq 8
	check "it holds what was written" holds 2
	probe clear
	check "it is detached" detach_disk
}

waits_in() { # waits_in FUNCTION: a thread of the kernel does
	cat /proc/[0-9]*/stack 2>/dev/null | grep -q " $1"
}

# Memory that cannot be mapped for the device now can be later, although nothing
# else is under way whose end would tell.
dma_is_short() { # dma_is_short TIMES COMMAND...: so often in a row
	_times=$1
	shift
	probe return kfiv_dma_map 0 times="$_times"
	"$@" || return
	_failed=$(probed kfiv_dma_map)
	probe clear
	echo "$_failed mappings failed"
	[ "$_failed" -eq "$_times" ]
}

dma() {
	check "a disk with copies of writes is attached" attach_disk --size 4 \
		--queues 1 --retain-mb 8 || exit
	check "a write waits until its memory can be mapped" \
		dma_is_short 5 put 0
	check "so does a read" dma_is_short 5 holds 0
	check "so does a flush" dma_is_short 3 xfs_io -c fsync "$DISK"
	check "it is written" put 1
	check "the brick is killed" kill_brick
	another_boot
	# Of a copy each page is one; arg3: DMA_TO_DEVICE. The first copy has the
	# tenth, so that nothing is under way whose end would tell.
	probe return kfiv_dma_map 0 arg3=1 every=10
	check "it serves again, and every tenth mapping fails" serve_brick
	check "the disk is up" wait_for $LONG_S state_is up
	check "its copies were written again" \
		test "$(retained replayed)" -gt 0
	check "they are flushed" xfs_io -c fsync "$DISK"
	check "mappings have failed" probed_above kfiv_dma_map 0
	probe clear
	check "it holds what was written" eval "holds 0 && holds 1"
	check "it is detached" detach_disk
	same_boot
}

reads_zeroes() {
	dd if="$DISK" bs=1M count=8 iflag=direct 2>/dev/null |
		cmp -n $((8 << 20)) - /dev/zero
}

# A write whose readback had no room is of the connection until that ends, and so is the
# discard that waits for it: nothing else is over whose end would wake it.
discard_behind_fua() {
	check "a brick whose writes are read back serves" \
		restart_brick brickd "persistence = assume-readback" || exit
	check "blocks are allocated" ctl alloc 128M+4
	check "a thin disk maps them as one" attach_disk --base 128M --size 4 \
		--queues 1 --thin || exit
	check "it is written" put 1
	probe return kfiv_post_flush -11 # EAGAIN
	xfs_io -d -s -c "pwrite -q -i /tmp/input 0 ${KIB}k" "$DISK" \
		>/tmp/fua.out 2>&1 &
	_writer=$!
	check "a write with FUA waits for its readback" wait_for $LONG_S \
		probed_above kfiv_post_flush 0
	blkdiscard -o 2M -l 2M "$DISK" >/tmp/discard.out 2>&1 &
	_discarder=$!
	check "a discard of the next block waits for it" wait_for $LONG_S \
		waits_in kfbk_free_blocks
	kill_brick
	probe clear
	check "the brick serves again" serve_brick
	check "the discard ends" wait_for 60 is_over $_discarder || exit
	check "it is good" wait $_discarder
	check "the write ends" wait_for $LONG_S is_over $_writer
	check "it is good, too" wait $_writer
	check "the disk is up" state_is up
	check "it holds what was written" holds 0
	check "it is detached" detach_disk
	ctl free 128M+1 && ctl free 132M+2
	check "brickd serves as before" restart_brick brickd
}

is_up_again() { # and has lost its session
	counter_above connects "$1" && state_is up
}

other_has() { # other_has VA: what it wrote there
	other read "$1" --length 64K | cmp - /tmp/other
}

# Between UNMAP and FREE the session is lost, and another client gets the block.
free_later() {
	check "a brick with short leases serves" \
		restart_brick brickd "lease-ms = 2000" || exit
	check "a thin disk that maps on demand is attached" attach_disk \
		--base 64M --size 8 --queues 1 --thin --map-cache 4 || exit
	check "a block is written" put 2
	probe hold kfbk_free_run
	blkdiscard -o 4M -l 2M "$DISK" >/tmp/discard.out 2>&1 &
	_discarder=$!
	check "it is unmapped, and about to be freed" wait_for $LONG_S \
		probed_above kfbk_free_run 0
	_connects=$(counter connects)
	kill_brick
	check "the brick serves again" serve_brick
	check "the disk has another session" wait_for $LONG_S \
		is_up_again "$_connects"
	check "another client gets the block" \
		wait_for $LONG_S other write 68M -i /tmp/other
	probe release
	check "the discard ends" wait_for $LONG_S is_over $_discarder
	probe clear
	check "the other client's bytes are there" \
		wait_for $LONG_S other_has 68M
	check_fails "the discard has failed" wait $_discarder
	check "so has the disk, for good" wait_for $LONG_S state_is dead
	check_fails "detaching says so" detach_disk
	other free 68M+1
	check "brickd serves as before" restart_brick brickd
}

# What is mapped to be discarded has to go for the rest of it, as the brick is short of
# memory meanwhile, and another client gets it.
free_evicted() {
	check "a brick that refuses serves" restart_brick brickd-refusing || exit
	check "a thin disk that maps eight on demand is attached" attach_disk \
		--base 64M --size 16 --queues 1 --thin --map-cache 8 || exit
	for _block in 0 1 2 3 8; do
		put $_block
	done
	check "they are flushed" xfs_io -c fsync "$DISK"
	_connects=$(counter connects)
	kill_brick
	check "the brick serves again" serve_brick
	check "the disk has another session" wait_for $LONG_S \
		is_up_again "$_connects"
	check "one of them is mapped there" holds 8
	: >$BRICK_LOG
	touch /tmp/refuse-map
	probe hold kfbk_flush_sync
	blkdiscard -o 0 -l 8M "$DISK" >/tmp/discard.out 2>&1 &
	_discarder=$!
	check "the brick has no memory to map what is discarded" \
		wait_for $LONG_S brick_did refuse map
	rm /tmp/refuse-map
	check "it has, and the disk is about to flush" wait_for $LONG_S \
		probed_above kfbk_flush_sync 0
	check "another client gets one that had to go" \
		wait_for $LONG_S other write 64M -i /tmp/other
	probe release
	check "the discard ends" wait_for $LONG_S is_over $_discarder
	probe clear
	check "the other client's bytes are there" other_has 64M
	check "the disk has failed for good" wait_for $LONG_S state_is dead
	check_fails "detaching says so" detach_disk
	check "brickd serves as before" restart_brick brickd
}

# A device for which little can be mapped as one, as in a guest whose memory is
# encrypted: the disk says so, and asks for no more.
limits() {
	echo "# limits begin" >/dev/kmsg
	check "the brick stops" stop_brick
	check "its device goes" rdma link delete rxe0
	probe return kfiv_max_mapping $SEG
	check "and comes with bounce buffers" rxe_setup rxe0 dummy0
	check "the brick serves again" serve_brick
	check "a disk is attached" attach_disk --size 4 --queues 1 || exit
	probe clear
	_queue=${CTL%/kfbrick}/queue
	check "it says how large its segments may be" \
		test "$(cat "$_queue/max_segment_size")" -eq $SEG
	check "it is written" dd if=/tmp/input of="$DISK" bs=4M count=2 \
		oflag=direct conv=notrunc
	check "it holds that" eval "dd if=$DISK bs=4M count=2 iflag=direct \
		2>/dev/null | cmp -n $((8 << 20)) - /tmp/input"
	check "whole blocks are zeroed" xfs_io -d -c "fzero 0 8m" "$DISK"
	check "they read as zeroes" reads_zeroes
	# Else the kernel writes pages of zeroes itself.
	check_fails "no request to zero them has failed" \
		eval "dmesg_since '# limits begin' | grep 'I/O error, dev ${DISK#/dev/}'"
	check "it is detached" detach_disk
}

disk_setup
probe_setup
head -c $((8 << 20)) /dev/urandom >/tmp/input
head -c 65536 /dev/urandom >/tmp/other
parts="resize_detach reattach_detach open_detach uevent free_later free_evicted"
[ "$PROVIDER" != verbs ] || parts="$parts dma discard_behind_fua limits"
for part in ${KFB_PARTS:-$parts}; do
	$part
done
probe_end
disk_end
