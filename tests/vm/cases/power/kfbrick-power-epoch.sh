# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Bricks that have lost their memory without another boot: the platform counts a
# dirty shutdown, or the medium is volatile. A disk never says that what it had
# written is durable; copies are written again.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickd-dirty-shutdown brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200
export DIRTY_SHUTDOWNS=/tmp/dirty

put() { # put NAME: direct, not flushed
	dd if="/tmp/$1" of="$DISK" bs=16k oflag=direct conv=notrunc
}

holds() { # holds NAME
	dd if="$DISK" of=/tmp/output bs=16k count=8 iflag=direct &&
		cmp "/tmp/$1" /tmp/output
}

attach_it() { # attach_it OPTION...
	attach_disk --size 8M --queues 2 --reconnect-s 600 \
		--provider 'fault;verbs' "$@"
}

# The brick alone: the machine that counts lives on, and so does its boot.
shut_down_dirtily() {
	kill -STOP "$BRICKD"
	echo 1 >"$FAULT/reject"
	echo 1 >"$FAULT/power_cut"
	kill_brick
	echo 0 >"$FAULT/reject"
	echo $(($(cat $DIRTY_SHUTDOWNS) + 1)) >$DIRTY_SHUTDOWNS
	serve_brick
}

tells_the_truth() { # tells_the_truth WHAT STATE
	check "$1: the disk is $2: it has lost writes" \
		wait_for $LONG_S state_is "$2"
	diag "$(cat "$CTL/last_error")"
	check_fails "$1: the next flush fails" xfs_io -c fsync "$DISK"
	check_fails "$1: and the one after it" xfs_io -c fsync "$DISK"
	check_fails "$1: a write fails" put new
	if [ "$2" = lossy ]; then
		check_fails "$1: detaching says so" detach_disk
	else
		check "$1: it can be detached" detach_disk
	fi
}

fault_setup power=1
echo 3 >$DIRTY_SHUTDOWNS
disk_setup "lease-ms = 600000"
for name in old new; do
	head -c 131072 /dev/urandom >/tmp/$name
done
check "modules serve that count dirty shutdowns" \
	restart_brick brickd-dirty-shutdown "lease-ms = 600000" || exit

check "dirty: a disk without copies is attached" attach_it --retain-mb 0 || exit
check "dirty: it is written and flushed" put old
check "dirty: the flush is good" xfs_io -c fsync "$DISK"
check "dirty: it is written and not flushed" put new
check "dirty: one more is counted" shut_down_dirtily
check "dirty: brickd has another power epoch" \
	grep -q "power epoch" $BRICK_LOG
tells_the_truth dirty lossy

check "copies: a disk with copies is attached" attach_it --retain-mb 64 || exit
check "copies: it is written and not flushed" put new
check "copies: one more is counted" shut_down_dirtily
check "copies: the disk is up again" wait_for $LONG_S state_is up
check "copies: they were written again" test "$(retained replayed)" -gt 0
check "copies: a flush is good" xfs_io -c fsync "$DISK"
check "copies: nothing is lost" holds new
check "copies: it is detached" detach_disk

mount -t tmpfs none /mnt
check "brickd stops" stop_brick
check "a store on tmpfs is formatted" brickd format /mnt/store --size 64M
export BRICK_PROGRAM=brickd
# One in private memory is another brick each time. Whoever has the port can say
# that, so a disk without a key believes it only when its time is over.
for entry in /mnt/store:lossy:600 memory:64M:failed:20; do
	reconnect_s=${entry##*:}
	entry=${entry%:*}
	store=${entry%:*}
	[ ! -d /proc/$BRICKD ] || stop_brick
	configure_brick "$store" "$BRICK_IP" "lease-ms = 600000"
	check "$store: brickd serves" serve_brick || exit
	check "$store: a disk is attached" \
		attach_it --reconnect-s "$reconnect_s" || exit
	check "$store: nothing makes its writes durable" \
		test "$(cat "$CTL/flush_mode")" = none
	check "$store: it keeps no copies" test "$(retained mb)" -eq 0
	check "$store: it is written" put old
	check "$store: a flush is as good as its memory" xfs_io -c fsync "$DISK"
	check "$store: it has what was written" holds old
	kill_brick
	check "$store: the brick begins anew" serve_brick
	tells_the_truth "$store" "${entry##*:}"
done

fault_end disk_end
