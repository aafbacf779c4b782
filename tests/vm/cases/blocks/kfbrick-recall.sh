# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A disk that is larger than its brick's memory: blocks come from the slow tier
# when they are needed, and mappings go back when the brick asks for them.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfbrick
# MODULES: brd
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

SLOW=/dev/ram0
BLOCKS=96 # the memory has fewer slots

info() { # info NAME: a number of the brick's
	ctl info --json | tr ',{}' '\n' | sed -n "s/^ *\"$1\": *\([0-9]*\).*/\1/p"
}

holds() { # each block what was written to it
	dd if="$DISK" bs=1M count=$((BLOCKS * 2)) iflag=direct 2>/dev/null |
		cmp - /tmp/input
}

gave() { # gave N: so many mappings at least
	[ "$(cached given)" -ge "$1" ]
}

modprobe brd rd_nr=1 rd_size=$((400 << 10)) || bail "there is a slow device"
disk_setup "slow = $SLOW"
slots=$(info slots_total)
diag "$slots slots of memory"
check "there is less memory than the disk wants" test "$slots" -lt $BLOCKS
check "a disk that maps everything is refused" says "no space" \
	ctl attach --size $BLOCKS
ctl free 0x0+$BLOCKS >/dev/null 2>&1
check "one that maps on demand is attached" attach_disk --size $BLOCKS \
	--map-cache $BLOCKS --queues 2 || exit
head -c $((BLOCKS << 21)) /dev/urandom >/tmp/input
check "it is written from end to end" dd if=/tmp/input of="$DISK" bs=1M \
	oflag=direct conv=notrunc,fsync
check "and has what was written" holds
check "it made room for itself" test "$(cached evictions)" -gt 0
diag "$(cat "$CTL/map_cache")"
check "it was asked for mappings" test "$(cached asked)" -gt 0

# Now most of the memory is its own; another disk wants some of it.
first=$DISK first_ctl=$CTL
given=$(cached given)
check "another disk is attached" attach_disk --base 1G --size 24
check "it is written" dd if=/tmp/input of="$DISK" bs=1M count=48 \
	oflag=direct conv=notrunc,fsync
second=$DISK second_ctl=$CTL
DISK=$first CTL=$first_ctl
check "the first one gave back what it wanted" gave $((given + 1))
diag "$(cat "$CTL/map_cache")"
check "it has what was written" holds
check "the other keeps what it maps" test "$(cat "$second_ctl/state")" = up
check "and has what was written" eval 'dd if="$second" bs=1M count=48 \
	iflag=direct 2>/dev/null | cmp -n $((48 << 20)) - /tmp/input'
check "one is detached" detach_disk "$second"
check "and the other" detach_disk
disk_end
