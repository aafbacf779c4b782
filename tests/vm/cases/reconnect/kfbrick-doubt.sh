# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A brick whose medium has failed, which it says in answer to a FLUSH: whoever asked
# to flush hears of it, whoever the FLUSH was for; what it covered counts as not
# flushed when the brick begins a new power epoch. KFB_PARTS: some of its parts, by
# name.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickd-refusing brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200
BLOCKS="0 1 2 3" # on each queue there are some

put() { # put FILE [OPTION]: 4 KiB into each block, direct, not flushed
	for _block in $BLOCKS; do
		put_4k "$1" "$_block" || return
	done
}

put_4k() { # put_4k FILE BLOCK [OPTION]
	xfs_io -d $3 -c "pwrite -i $1 $(($2 * 2048))k 4k" "$DISK" \
		>/tmp/put.out 2>&1
}

sync_disk() {
	xfs_io -c fsync "$DISK"
}

holds() { # holds FILE: each block begins with its bytes
	for _block in $BLOCKS; do
		dd if="$DISK" bs=4k count=1 skip=$((_block * 512)) \
			iflag=direct 2>/dev/null | cmp - "$1" || return
	done
}

fail_once() {
	: >$BRICK_LOG
	touch /tmp/refuse-one-flush
}

# Of two queues' requests one is refused: the flush fails, and the next one asks
# for what that did not do, and for no more.
queues() {
	check "queues: a disk is attached" attach_disk --size 8M --queues 2 \
		--retain-mb 0 || exit
	check "queues: it is written" put /tmp/new
	fail_once
	_messages=$(counter messages)
	check_fails "queues: one of two fails, and the flush" sync_disk
	check "queues: both were asked for" \
		test $(($(counter messages) - _messages)) -eq 2
	check "queues: it is known why" \
		grep -q 'medium has failed' "$CTL/last_error"
	check "queues: the next flush asks once" posts 0 0 0 1 sync_disk
	check "queues: it is detached" detach_disk
}

# A write with FUA that fails has tried to flush what others had written.
fua() {
	check "fua: a disk is attached" attach_disk --size 8M --queues 1 \
		--retain-mb 0 || exit
	check "fua: it is written" put /tmp/new
	fail_once
	check_fails "fua: a write with FUA fails" put_4k /tmp/new 1 -s
	check_fails "fua: so does the next flush" sync_disk
	check "fua: it has been told once" sync_disk
	check "fua: it is detached" detach_disk
}

# The answer that says so is lost, overdue, and comes from what the brick
# remembers; by then the disk has asked again, and that is good.
late() {
	fault_setup
	check "late: a disk is attached" attach_disk --size 8M --queues 1 \
		--reconnect-s 600 --timeout 15 --retain-mb 0 \
		--provider 'fault;verbs' || exit
	check "late: it is written" put /tmp/new
	fail_once
	_lost=$(fault_count lost)
	echo 1 >"$FAULT/lose_recv_nth"
	check_fails "late: the flush fails all the same" sync_disk
	check "late: the answer was lost" fault_count_above lost "$_lost"
	check "late: it has been told once" sync_disk
	fault_end detach_disk
}

# The brick goes, with all that it could not make durable, and comes back.
come_back() {
	kill_brick
	rm -f /tmp/refuse-flush
	another_boot && serve_brick
}

fail_medium() {
	: >$BRICK_LOG
	touch /tmp/refuse-flush
}

epoch() {
	check "epoch: a disk without copies is attached" attach_disk \
		--size 8M --queues 2 --reconnect-s 600 --retain-mb 0 || exit
	check "epoch: it is written" put /tmp/new
	fail_medium
	check_fails "epoch: a flush fails" sync_disk
	check_fails "epoch: and the next" sync_disk
	check "epoch: the brick comes back in another power epoch" come_back
	check "epoch: the disk has lost writes" wait_for $LONG_S state_is lossy
	check_fails "epoch: a flush fails" sync_disk
	check_fails "epoch: detaching says so" detach_disk
	check "copies: a disk with copies is attached" attach_disk \
		--size 8M --queues 2 --reconnect-s 600 --retain-mb 4 || exit
	check "copies: it is written" put /tmp/old
	fail_medium
	check_fails "copies: a flush fails" sync_disk
	check "copies: there are copies" test "$(retained copies)" -eq 4
	check "copies: the brick comes back in another power epoch" come_back
	check "copies: the disk is up" wait_for $LONG_S state_is up
	check "copies: they were written again" \
		test "$(retained replayed)" -eq 4
	check "copies: a flush is good" sync_disk
	check "copies: none is left" test "$(retained copies)" -eq 0
	check "copies: nothing is lost" holds /tmp/old
	check "copies: it is detached" detach_disk
	same_boot
}

disk_setup
check "a brick that refuses serves" \
	restart_brick brickd-refusing "lease-ms = 600000" || exit
head -c 4096 /dev/urandom >/tmp/old
head -c 4096 /dev/urandom >/tmp/new
for part in ${KFB_PARTS:-queues fua late epoch}; do
	$part
done
disk_end
