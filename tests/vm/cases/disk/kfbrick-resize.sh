# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A disk grows while it is written; what was there stays.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200

blocks_are() { # blocks_are N: by the disk's attribute and by its size
	[ "$(cat "$CTL/blocks")" -eq "$1" ] &&
		[ "$(cat "${CTL%/kfbrick}/size")" -eq $(($1 * 4096)) ]
}

resize() { # resize N: blocks
	brickctl attach --resize "$DISK" --size "$1"
}

write_on_and_on() { # until the file stop is there
	while [ ! -e /tmp/stop ]; do
		dd if=/tmp/input of="$DISK" bs=64k oflag=direct \
			conv=fsync,notrunc 2>/tmp/dd.err || return
		echo >>/tmp/rounds
	done
}

is_written() { # is_written N: so many rounds at least
	[ -e /tmp/rounds ] && [ "$(wc -l </tmp/rounds)" -ge "$1" ]
}

holds() { # holds BLOCK: the input, from there on
	dd if="$DISK" of=/tmp/output bs=1M count=4 skip=$(($1 * 2)) \
		iflag=direct && cmp /tmp/input /tmp/output
}

hear() { # what the kernel tells user space goes to /tmp/told
	cat >/tmp/tell <<-'EOF'
		#!/bin/sh
		echo "$ACTION $DEVNAME RESIZE=$RESIZE" >>/tmp/told
	EOF
	chmod +x /tmp/tell
	busybox uevent /tmp/tell &
	_hears=$!
	wait_for $LONG_S hears
}

hears() { # it does by now
	echo change >"${CTL%/kfbrick}/uevent"
	[ -e /tmp/told ]
}

told() { # told TEXT: a line of it
	grep -qx "$1" /tmp/told
}

of_kind() { # of_kind NAME OPTION...
	_kind=$1
	shift
	rm -f /tmp/stop /tmp/rounds
	check "$_kind: a disk is attached" attach_disk --size 4 --queues 2 \
		"$@" || exit
	write_on_and_on &
	_writer=$!
	check "$_kind: it is being written" wait_for $LONG_S is_written 1
	check "$_kind: somebody listens" hear
	check "$_kind: it grows" resize 16
	check "$_kind: that is its size" blocks_are 16
	check "$_kind: user space is told" wait_for $LONG_S \
		told "change ${DISK#/dev/} RESIZE=1"
	kill $_hears
	rm /tmp/told
	_rounds=$(($(wc -l </tmp/rounds) + 2))
	check "$_kind: it is still being written" wait_for $LONG_S \
		is_written $_rounds
	touch /tmp/stop
	check "$_kind: the writer has noticed nothing" wait $_writer ||
		diag "$(cat /tmp/dd.err)"
	check "$_kind: the new blocks are written" dd if=/tmp/input \
		of="$DISK" bs=1M seek=28 oflag=direct conv=fsync,notrunc
	check "$_kind: and hold it" holds 14
	check "$_kind: so do the old ones" holds 0
	check "$_kind: it does not become smaller" says "does not become" \
		resize 8
	check "$_kind: it has its size" blocks_are 16
}

disk_setup
head -c $((4 << 20)) /dev/urandom >/tmp/input
of_kind thick
check "not beyond what the brick has" says "space" resize 1G
check "it has its size" blocks_are 16
first=$DISK first_ctl=$CTL
check "another disk may have what it did not get" attach_disk --base 512M \
	--size 1 --thin
second=$DISK DISK=$first CTL=$first_ctl
check "it does not grow into that one" \
	says "has blocks of this range already" resize 2G
check "that is detached" brickctl detach "$second"
check "another client allocates the next block" other alloc 32M+1
other map 32M+1 --rw --exclusive --hold 3600 >/tmp/hold.out 2>&1 &
check "and maps it" wait_for $LONG_S grep -q REMOTE /tmp/hold.out
check "the disk does not get that, and it is said why" \
	says "blocks of the range are mapped" resize 17
check "it has its size still" blocks_are 16
check "the other client goes" kill "$(pidof brickctl)"
check "what the brick has it gets after all" wait_for $LONG_S resize 17
check "that is its size" blocks_are 17
check "a kill of the brick changes nothing" kill_brick
check "brickd serves again" serve_brick
check "the disk is up again" wait_for $LONG_S state_is up
check "it has what was written to its new blocks" holds 14
check "it is detached" detach_disk
ctl free 0x0+17
of_kind thin --thin --retain-mb 8
check "it is detached" detach_disk
disk_end
