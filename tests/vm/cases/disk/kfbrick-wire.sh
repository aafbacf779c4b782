# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What a disk's requests post: exactly what docs/durability.md says, by mode.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

QUEUES=4
BLOCKS=16
TRACE=/sys/kernel/debug/tracing

write_block() { # write_block NUMBER: 4 KiB at the start of a block, no flush
	dd if=/dev/zero of="$DISK" bs=4096 count=1 seek=$(($1 * 512)) \
		oflag=direct conv=notrunc
}

read_block() {
	dd if="$DISK" of=/dev/null bs=4096 count=1 skip=$(($1 * 512)) \
		iflag=direct
}

write_all() { # a page of each block
	for _i in $(seq 0 $((BLOCKS - 1))); do
		write_block "$_i" || return
	done
}

write_fua() { # O_SYNC: the write is FUA, and a flush with nothing to do follows
	xfs_io -d -s -c "pwrite 0 4k" "$DISK"
}

flush() {
	xfs_io -c fsync "$DISK"
}

zero() { # zero COMMAND OFFSET LENGTH: fzero keeps the blocks, fpunch need not
	xfs_io -d -c "$1 $2 $3" "$DISK"
}

discard() { # discard OFFSET LENGTH
	blkdiscard -o "$1" -l "$2" "$DISK"
}

# What the interrupts of soft RoCE take while brickd runs counts as brickd's
# time; how often it was woken does not depend on them.
brickd_woken() { # by all its threads
	awk '/^voluntary/ { n += $2 } END { print n }' \
		"/proc/$BRICKD"/task/*/status
}

brickd_ticks() { # of CPU time in user space
	awk '{ print $14 }' "/proc/$BRICKD/stat"
}

woken_in_10s() { # woken_in_10s COMMAND: how often, while it goes on
	_woken=$(brickd_woken)
	_end=$(($(now_s) + 10))
	while [ "$(now_s)" -lt $_end ]; do
		"$@" >/dev/null 2>&1
	done
	echo $(($(brickd_woken) - _woken))
}

write_and_flush() {
	write_all && flush
}

each_queue_once() { # each_queue_once NAME: no queue has more than one more
	awk -v name="$1" 'NR == FNR { was[FNR] = $0; next }
		function of(line, n, i, kv) {
			n = split(line, f, " ")
			for (i = 1; i <= n; i++) {
				split(f[i], kv, "=")
				if (kv[1] == name) return kv[2]
			}
		}
		of($0) - of(was[FNR]) > 1 { bad = 1 }
		END { exit bad }' /tmp/counters "$CTL/counters"
}

written_queues() { # how many queues have writes since /tmp/counters
	awk 'NR == FNR { split($2, kv, "="); was[FNR] = kv[2]; next }
		{ split($2, kv, "="); if (kv[2] > was[FNR]) n++ }
		END { print n + 0 }' /tmp/counters "$CTL/counters"
}

flushes() { # flushes N COMMAND...: in the mode's own kind of op
	_n=$1
	shift
	if [ "$MODE" = message ]; then
		posts 0 0 0 "$_n" "$@"
	else
		posts 0 0 "$_n" 0 "$@"
	fi
}

fua() {
	if [ "$MODE" = message ]; then
		posts 1 0 0 1 write_fua
	else
		posts 1 0 1 0 write_fua
	fi
}

# The flush that follows a synchronous write would hide that a FUA was lost: a
# FUA write is over when it is durable, and in readback it brings its own.
fua_is_kept() {
	echo >$TRACE/trace
	echo 1 >$TRACE/events/kfbrick/enable
	write_fua
	echo 0 >$TRACE/events/kfbrick/enable
	cat $TRACE/trace
	grep -q 'kfbrick_post:.*write+fua' $TRACE/trace || return
	if [ "$MODE" = readback ]; then
		! grep -q kfbrick_flush_op: $TRACE/trace
	else
		awk '/kfbrick_flush_op:/ { flushed = 1 }
			/kfbrick_done:.* op=1 / { exit !flushed }' $TRACE/trace
	fi
}

of_mode() {
	flush
	check "$MODE: a write is one write" posts 1 0 0 0 write_block 1
	check "$MODE: its flush is one op" flushes 1 flush
	check "$MODE: a flush without writes posts nothing" flushes 0 flush
	check "$MODE: FUA is a write and a flush of its queue" fua
	check "$MODE: and is not over before it is durable" fua_is_kept
	check "$MODE: nothing is left to flush" flushes 0 flush
	check "$MODE: a read is one read" posts 0 1 0 0 read_block 1
	cat "$CTL/counters" >/tmp/counters
	write_all 2>/dev/null
	n=$(written_queues)
	check "$MODE: $BLOCKS blocks are on more than one queue" test "$n" -gt 1
	cat "$CTL/counters" >/tmp/counters
	check "$MODE: their flush is one op on each of $n queues" \
		flushes "$n" flush
	check "$MODE: and no queue has two" each_queue_once readbacks
	check "$MODE: nor two messages" each_queue_once messages
}

of_commit() { # a write is durable when it is over: there is nothing to flush
	check "$MODE: a write is one write" posts 1 0 0 0 write_block 1
	check "$MODE: a flush posts nothing" posts 0 0 0 0 flush
	check "$MODE: FUA is a write" posts 1 0 0 0 write_fua
	check "$MODE: a read is one read" posts 0 1 0 0 read_block 1
}

thick() {
	check "$MODE: zeroes over two blocks are two writes at least" \
		posts 2 0 0 0 zero fzero 1m 2m
	flush
}

thin() {
	write_all 2>/dev/null
	flush
	check "a discard of a whole block posts no data" \
		posts 0 0 0 0 discard $((2 << 20)) $((2 << 20))
	check "nor does one of parts of blocks" \
		posts 0 0 0 0 discard $((5 << 20)) $((2 << 20))
	check "a freed block is read without the wire" \
		posts 0 0 0 0 read_block 1
	check "zeroes that may unmap a block post no data" \
		posts 0 0 0 0 zero fpunch 4m 2m
	check "zeroes that may not are one write" \
		posts 1 0 0 0 zero fzero 6m 2m
	check "zeroes of a part are one write" posts 1 0 0 0 zero fpunch 9m 1m
	check "zeroes where nothing is post nothing" \
		posts 0 0 0 0 zero fzero 2m 2m
	flush
}

if [ "$CARRIER" = tcp ]; then
	MODES=commit
else
	MODES=${KFB_MODES:-message readback}
fi
for MODE in $MODES; do
	if [ $MODE = readback ]; then
		disk_setup "persistence = assume-readback"
	else
		disk_setup
	fi
	check "$MODE: a disk is attached" attach_disk --size $BLOCKS \
		--queues $QUEUES || exit
	check "$MODE: that is its mode" \
		test "$(cat "$CTL/flush_mode")" = $MODE
	check "$MODE: it has $QUEUES queues" \
		test "$(cat "$CTL/queues")" -eq $QUEUES
	if has_cache; then of_mode; else of_commit; fi
	[ $MODE = readback ] || thick
	if [ $MODE = readback ]; then
		idle=$(woken_in_10s sleep 1)
		ticks=$(brickd_ticks)
		was=$(counter writes)
		busy=$(woken_in_10s write_and_flush)
		ticks=$(($(brickd_ticks) - ticks))
		diag "brickd in 10 s and $(($(counter writes) - was)) writes:" \
			"$ticks ticks of user time, woken $busy times;" \
			"when idle $idle times"
		check "10 s of writes and flushes do not wake brickd" \
			test "$busy" -le $((idle + 4))
	fi
	check "$MODE: it is detached" detach_disk
	if [ $MODE != readback ]; then
		ctl free 0x0+$BLOCKS
		check "a thin one is attached" attach_disk --size $BLOCKS \
			--thin --queues $QUEUES
		thin
		check "it is detached" detach_disk
	fi
	disk_end
done
