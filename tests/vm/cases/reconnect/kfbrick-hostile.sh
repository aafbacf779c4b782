# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A brick that wants to keep its clients busy for good: with lists that come to no
# end, with news that come to none. KFB_PARTS: some of its parts, by name.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickd-hostile brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200
EVENTS=500

brick_said() { # brick_said WORD: so many lines
	grep -c "^$1:" "$BRICK_LOG"
}

brick_said_more() { # brick_said_more WORD N
	[ "$(brick_said "$1")" -gt "$2" ]
}

try_to_attach() {
	ctl attach --size 16 --queues 1 >/tmp/attach.out 2>&1
}

# list_of STEP: pages that are empty, while the cursor rises by so much
list_of() {
	_asked=$(brick_said list)
	try_to_attach &
	_attacher=$!
	check "$1: attaching comes to an end" wait_for 30 is_over $_attacher
	rm /tmp/list-without-end
	wait $_attacher
	_pages=$(($(brick_said list) - _asked))
	check "$1: it says why" grep -q 'answered something else' \
		/tmp/attach.out || diag "$(cat /tmp/attach.out)"
	check "$1: after one page" test $_pages -eq 1
	diag "$_pages pages"
}

lists() {
	: >/tmp/list-without-end
	list_of byte
	echo block >/tmp/list-without-end
	list_of block
	: >/tmp/list-without-end
	check "brickctl does not list for ever either" \
		says "another page than" ctl list
	rm /tmp/list-without-end
}

told() { # lines of the kernel's log about lost blocks
	case_log | grep -c 'kfbrick[0-9]*: the brick has lost'
}

# Each event is answered and asked for anew; the log has some lines of it, not all.
events() {
	check "a disk is attached" attach_disk --size 4 --queues 1 || exit
	_told=$(told) _start=$(now_s)
	touch /tmp/events-without-end
	xfs_io -d -c "pwrite 0 4k" -c fsync "$DISK" >/tmp/write.out
	check "the brick has $EVENTS news" wait_for $LONG_S \
		brick_said_more event $EVENTS
	rm /tmp/events-without-end
	_took=$(($(now_s) - _start)) _told=$(($(told) - _told))
	diag "$(brick_said event) events in $_took s, $_told lines"
	check "the first of them are told" test $_told -gt 0
	# ten in five seconds, and those of the first five and the last
	check "the log is not filled" test $_told -le $((2 * _took + 20))
	check "there were many more" \
		test "$(brick_said event)" -gt $((3 * _told))
	check "it is written as before" xfs_io -d -c "pwrite 0 4k" -c fsync \
		"$DISK"
	check "it is detached" detach_disk
}

disk_setup
check "a hostile brick serves" restart_brick brickd-hostile || exit
for part in ${KFB_PARTS:-lists events}; do
	$part
done
disk_end
