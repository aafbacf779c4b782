# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A row of the loss table by itself: a connection ends with a FLUSH outstanding that
# the brick has done, with writes after it, and then the power fails. Nothing that a
# flush has promised is lost.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickd-holding brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200

put() { # put FILE PAGE: 4 KiB of block 0, direct, not flushed
	xfs_io -d -c "pwrite -i $1 $(($2 * 4))k 4k" "$DISK" >/tmp/put.out 2>&1
}

holds() { # holds FILE PAGE
	dd if="$DISK" bs=4k count=1 skip="$2" iflag=direct 2>/dev/null |
		cmp - "$1"
}

write_old() { # durably
	put /tmp/old 0 && put /tmp/old 1 && xfs_io -c fsync "$DISK"
}

# The brick has made the first page durable, and its answer does not arrive. The
# second page is in its caches.
lose_answer() {
	_lost=$(fault_count lost)
	put /tmp/new 0 || return
	echo 1 >"$FAULT/lose_recv_nth"
	xfs_io -c fsync "$DISK" >/tmp/flush.out 2>&1 &
	FLUSH=$!
	wait_for $LONG_S fault_count_above lost "$_lost" && put /tmp/new 1
}

# From now on the brick does no FLUSH: it answers what it remembers. Completions
# are late enough for the disk to ask for both before it has an answer, and that of
# the last read comes behind all answers.
come_back() {
	_cuts=$(fault_count link_cuts)
	: >$BRICK_LOG
	touch /tmp/hold-flush
	echo 2000 >"$FAULT/delay_ms"
	echo 1000 >"$FAULT/delay_permille"
	echo 1 >"$FAULT/cut_nth"
	holds /tmp/new 1 && fault_count_above link_cuts "$_cuts" &&
		wait_for $LONG_S brick_did hold flush && holds /tmp/new 1
	_came=$?
	echo 0 >"$FAULT/delay_permille"
	return $_came
}

lose_power() {
	rm /tmp/hold-flush
	cut_power
	another_boot && serve_brick
}

row() { # row QUEUES
	check "$1: a brick serves that loses its caches" restart_brick \
		brickd-holding "lease-ms = 600000" || exit
	check "$1: a disk is attached" attach_disk --size 8M --queues "$1" \
		--reconnect-s 600 --timeout 200 --retain-mb 0 \
		--provider 'fault;verbs' || exit
	check "$1: it is written and flushed" write_old
	check "$1: the answer to a flush is lost, and more is written" \
		lose_answer
	check "$1: the disk comes back over another connection" come_back
	check_fails "$1: the flush is not over" is_over $FLUSH
	check "$1: the power fails" lose_power
	check "$1: the disk has lost writes" wait_for $LONG_S state_is lossy
	check_fails "$1: the flush says so" wait $FLUSH
	check "$1: what the brick had flushed is there" holds /tmp/new 0
	check "$1: what it had not is lost" holds /tmp/old 1
	check_fails "$1: detaching says so" detach_disk
}

fault_setup
disk_setup
head -c 4096 /dev/urandom >/tmp/old
head -c 4096 /dev/urandom >/tmp/new
for queues in 1 4; do
	row $queues
done
same_boot
fault_end disk_end
