# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The brick's power fails under a disk that maps on demand: what had been
# unmapped is durable, what is still mapped is lost and told, or written again.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200
BLOCKS=6
KIB=64

put() { # put FILE: some of it into each block, the next one unmaps the last
	_block=0
	while [ $_block -lt $BLOCKS ]; do
		dd if="$1" of="$DISK" bs=${KIB}k count=1 \
			seek=$((_block * 2048 / KIB)) skip=$_block oflag=direct \
			conv=notrunc 2>/tmp/dd.err || return
		_block=$((_block + 1))
	done
}

holds() { # holds FILE BLOCK...: it has what was written
	_file=$1
	shift
	for _block; do
		dd if="$DISK" of=/tmp/output bs=${KIB}k count=1 \
			skip=$((_block * 2048 / KIB)) iflag=direct || return
		dd if="$_file" of=/tmp/part bs=${KIB}k count=1 skip="$_block" ||
			return
		cmp /tmp/part /tmp/output || return
	done
}

attach() { # attach MAPPED MB
	attach_disk --size 8 --queues 2 --reconnect-s 600 \
		--provider 'fault;verbs' --map-cache "$1" --retain-mb "$2"
}

fault_setup power=1
disk_setup "lease-ms = 600000"
head -c $((BLOCKS * KIB << 10)) /dev/urandom >/tmp/old
head -c $((BLOCKS * KIB << 10)) /dev/urandom >/tmp/new

check "a disk with one block mapped and copies is attached" attach 1 64 || exit
check "it is written and flushed" eval 'put /tmp/old && xfs_io -c fsync "$DISK"'
check "it is written and not flushed" put /tmp/new
check "there are copies of the last block only" \
	test "$(retained bytes)" -eq $((KIB << 10))
lost=$(fault_count lost_lines)
check "the power fails and comes back" fail_power
check "the disk is up again" wait_for $LONG_S state_is up
check "bytes were really lost" test "$(fault_count lost_lines)" -gt "$lost"
check "the copies were written again" test "$(retained replayed)" -gt 0
check "nothing is lost" holds /tmp/new 0 1 2 3 4 5
check "a flush is good" xfs_io -c fsync "$DISK"
check "it is detached" detach_disk

check "one without copies is attached" attach 1 0 || exit
check "it is written and flushed" eval 'put /tmp/old && xfs_io -c fsync "$DISK"'
check "it is written and not flushed" put /tmp/new
check "the power fails and comes back" fail_power
check "the disk says that it has lost writes" wait_for $LONG_S state_is lossy
check_fails "the next flush fails" xfs_io -c fsync "$DISK"
check "what had been unmapped is there" holds /tmp/new 0 1 2 3 4
check_fails "what was mapped is not" holds /tmp/new 5
check_fails "detaching says so" detach_disk

check "one with three blocks mapped and copies is attached" attach 3 64 || exit
check "it is written and not flushed" put /tmp/old
check "and once more" put /tmp/new
check "the power fails and comes back" fail_power
check "the disk is up again" wait_for $LONG_S state_is up
check "nothing is lost" holds /tmp/new 0 1 2 3 4 5
check "a flush is good" xfs_io -c fsync "$DISK"
check "no copy is left" test "$(retained copies)" -eq 0
check "the power fails once more" fail_power
check "the disk is up once more" wait_for $LONG_S state_is up
check "still nothing is lost" holds /tmp/new 0 1 2 3 4 5
check "it is detached" detach_disk
same_boot
fault_end disk_end
