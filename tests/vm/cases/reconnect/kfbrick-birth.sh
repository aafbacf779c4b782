# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Another client gets a block of a disk while its brick is away, and writes it:
# the disk fails and leaves what it finds alone, whatever it has copies of.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200
OTHER_PORT=20150

other() { # brickctl as another client, where the disk does not look
	brickctl --timeout 60 --brick "$CARRIER://$BRICK_IP:$OTHER_PORT" \
		--client other --key-file $KEY "$@"
}

serve_at() { # serve_at ADDRESS
	sed -i "s/^listen = .*/listen = $CARRIER:\/\/$1/" /tmp/brick.conf
	serve_brick
}

other_gets_it() { # when the time is over that the disk's client has for itself
	wait_for $LONG_S other write 2M -i /tmp/other
}

foreign_block() { # the other client's bytes, as they are
	other read 2M --length 64K -o /tmp/output && cmp /tmp/other /tmp/output
}

own_write() { # not flushed
	head -c $((6 << 20)) /dev/urandom >/tmp/own
	dd if=/tmp/own of="$DISK" bs=64k oflag=direct conv=notrunc
}

round() { # round HOW: the brick was restarted, or lost its power
	_how=$1
	check "$_how: a disk is attached" attach_disk --size 8M --queues 2 \
		--reconnect-s 600 --retain-mb 64 || exit
	check "$_how: it is written and not flushed" own_write
	! has_cache || check "$_how: there are copies" \
		test "$(retained copies)" -gt 0
	kill_brick
	[ "$_how" = restart ] || another_boot
	check "$_how: the brick comes back elsewhere" \
		serve_at "$BRICK_IP:$OTHER_PORT"
	check "$_how: another client writes a block" other_gets_it
	check "$_how: the disk still waits" state_is connecting
	stop_brick
	check "$_how: the brick is where it was" serve_at "$BRICK_IP"
	check "$_how: the disk fails" wait_for $LONG_S state_is dead
	check "$_how: it knows why" \
		grep -q "changed hands" "$CTL/last_error"
	! has_cache ||
		check_fails "$_how: a flush fails" xfs_io -c fsync "$DISK"
	check "$_how: nothing was written again" \
		test "$(retained replayed)" -eq 0
	check_fails "$_how: detaching says what is lost" detach_disk
	stop_brick
	check "$_how: the brick comes back elsewhere again" \
		serve_at "$BRICK_IP:$OTHER_PORT"
	check "$_how: the other client's bytes are there" wait_for $LONG_S \
		foreign_block
	stop_brick
	serve_at "$BRICK_IP"
}

head -c 65536 /dev/urandom >/tmp/other
disk_setup "lease-ms = 2000"
round restart
round power
same_boot
disk_end
