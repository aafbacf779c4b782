# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The brick's power fails: what was written and not flushed is really lost
# there. Without retained copies the disk says so, with them nothing is lost.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_tcp kfabric_fault kfbrick
# BIN: brickd brickd-caches brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200

read_waiting() { # what is lost on the brick, before it is written again
	dd if="$DISK" of=/tmp/waited bs=16k count=1 iflag=direct 2>/dev/null &&
		cmp -n 16384 /tmp/new /tmp/waited
}

# Some bytes of each block, so that every queue has some. The fault layer's
# memory is small, and slow when it is full.
KIB=64
BLOCKS="0 1 2 3"

put() { # put FILE KIB: into each block, direct, not flushed
	for _block in $BLOCKS; do
		dd if="$1" of="$DISK" bs=16k count=$(($2 / 16)) \
			seek=$((_block * 128)) skip=$((_block * KIB / 16)) \
			oflag=direct conv=notrunc 2>/tmp/dd.err || return
	done
}

random_file() { # random_file NAME
	head -c $((4 * KIB << 10)) /dev/urandom >"$1"
}

write_old() { # what is there before, durably
	random_file /tmp/old && put /tmp/old $KIB && xfs_io -c fsync "$DISK"
}

# Over half of that twice, so that there are copies older than what is there.
write_new() {
	put /tmp/zero $((KIB / 2)) && random_file /tmp/new &&
		put /tmp/new $((KIB / 2))
}

holds() { # holds old|new: each block's first bytes are of that file
	for _block in $BLOCKS; do
		dd if="$DISK" of=/tmp/output bs=16k count=$((KIB / 16)) \
			skip=$((_block * 128)) iflag=direct || return
		dd if="/tmp/$1" of=/tmp/part bs=16k count=$((KIB / 32)) \
			skip=$((_block * KIB / 16)) || return
		dd if=/tmp/old bs=16k count=$((KIB / 32)) \
			skip=$((_block * KIB / 16 + KIB / 32)) >>/tmp/part ||
			return
		cmp /tmp/part /tmp/output || return
	done
}

attach_lossy() { # attach_lossy MB
	attach_disk --size 8M --queues 2 --reconnect-s 600 \
		--provider "fault;$PROVIDER" --retain-mb "$1"
}

put_4k() { # put_4k FILE BLOCK [OPTION]: at the block's end
	xfs_io -d $3 -c "pwrite -i $1 $((($2 * 512 + 511) * 4096)) 4k" "$DISK"
}

# A FUA write over one that was not flushed. O_SYNC sends a flush of the disk
# behind it, and that would leave no copy of either: its answer, of the other
# queue, is the second, and is lost.
fua_over() {
	_lost=$(fault_count lost)
	xfs_io -c fsync "$DISK" || return
	for _block in $BLOCKS; do
		put_4k /tmp/zero "$_block" || return
	done
	echo 2 >"$FAULT/lose_recv_nth"
	put_4k /tmp/fua 0 -s &
	FUA=$!
	wait_for $LONG_S fault_count_above lost "$_lost"
}

fua_is_there() {
	dd if="$DISK" of=/tmp/output bs=4k count=1 skip=511 iflag=direct &&
		cmp /tmp/fua /tmp/output
}

fua() {
	head -c 4096 /dev/urandom >/tmp/fua
	check "FUA: a disk with copies is attached" attach_lossy 64 || exit
	check "FUA: it is written over an unflushed write" fua_over
	check "FUA: both have copies" test "$(retained copies)" -eq 5
	check "FUA: the power fails and comes back" fail_power
	check "FUA: the disk is up again" wait_for $LONG_S state_is up
	check "FUA: the flush behind it ends" wait $FUA
	# Not what is durable, and nothing older over it.
	check "FUA: the other three were written again" \
		test "$(retained replayed)" -eq 3
	check "FUA: the older one has not reverted it" fua_is_there
	check "FUA: it is detached" detach_disk
}

# A write with FUA that is in a CPU's cache when the power fails: brickd, which is
# stopped, has not flushed it yet.
fua_cut() {
	_flushes=$(counter messages)
	kill -STOP "$BRICKD"
	put_4k /tmp/fua 0 -s >/tmp/fua.out 2>&1 &
	FUA=$!
	wait_for $LONG_S counter_above messages "$_flushes"
	_asked=$?
	cut_power
	[ $_asked -eq 0 ] && another_boot && serve_brick
}

# Nobody was told that it is complete, so that nothing is lost but what others
# had written; and it is whole in any case.
fua_under_way() {
	head -c 4096 /dev/urandom >/tmp/fua
	check "under way: a brick serves that loses its caches" \
		restart_brick brickd-caches "lease-ms = 600000" || exit
	check "under way: a disk without copies is attached" attach_lossy 0 ||
		exit
	check "under way: all is flushed" xfs_io -c fsync "$DISK"
	check "under way: the power fails behind a FUA write" fua_cut
	check "under way: it ends well" wait $FUA || diag "$(cat /tmp/fua.out)"
	check "under way: the disk is up" state_is up
	check "under way: a flush is good" xfs_io -c fsync "$DISK"
	check "under way: it is there" fua_is_there
	head -c 4096 /dev/urandom >/tmp/fua
	check "under way: another block is written" put_4k /tmp/zero 1
	check "under way: the power fails behind another one" fua_cut
	check_fails "under way: what it says is that something is lost" wait $FUA
	check "under way: and the disk does" state_is lossy
	check "under way: it is there all the same" fua_is_there
	check_fails "under way: so does detaching" detach_disk
}

# What the brick's network card has acknowledged stays in it until something on
# the same queue flushes it, and goes with the power.
fault_setup power=1
disk_setup "lease-ms = 600000"
head -c $((4 * KIB << 10)) /dev/zero >/tmp/zero

check "a disk without copies is attached" attach_lossy 0 || exit
check "it is written and flushed" write_old
check "it is written and not flushed" write_new
lost=$(fault_count lost_lines)
check "the power fails and comes back" fail_power
check "the disk says that it has lost writes" wait_for $LONG_S state_is lossy
check "bytes were really lost" test "$(fault_count lost_lines)" -gt "$lost"
diag "$(cat "$CTL/last_error")"
check_fails "the next flush fails" xfs_io -c fsync "$DISK"
check_fails "and the one after it" xfs_io -c fsync "$DISK"
check_fails "a write fails" dd if=/dev/zero of="$DISK" bs=4096 count=1 \
	oflag=direct
check "what was flushed can be read" dd if="$DISK" of=/dev/null bs=64k \
	count=4 iflag=direct
check_fails "what was not is not there" holds new
check_fails "detaching says so" detach_disk

for mb in 64 4; do
	check "a disk with $mb MiB of copies is attached" attach_lossy $mb ||
		exit
	check "$mb: it is written and flushed" write_old
	check "$mb: it is written and not flushed" write_new
	check "$mb: there are copies" \
		test "$(retained bytes)" -eq $((4 * KIB << 10))
	lost=$(fault_count lost_lines)
	check "$mb: the power fails and comes back" fail_power read_waiting
	check "$mb: the disk is up again" wait_for $LONG_S state_is up
	check "$mb: who waited reads what was written" wait "$WAITER"
	check "$mb: bytes were really lost" \
		test "$(fault_count lost_lines)" -gt "$lost"
	check "$mb: the copies were written again" \
		test "$(retained replayed)" -gt 0
	check "$mb: a flush is good" xfs_io -c fsync "$DISK"
	check "$mb: nothing is lost" holds new
	diag "$(cat "$CTL/retain")"
	check "$mb: no copy is left" test "$(retained copies)" -eq 0
	# What was written again is durable now.
	check "$mb: the power fails once more" fail_power
	check "$mb: the disk is up once more" wait_for $LONG_S state_is up
	check "$mb: still nothing is lost" holds new
	check "$mb: it is detached" detach_disk
done
fua
fua_under_way
same_boot
fault_end disk_end
