# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The brick's machine is killed at some moment while a disk is written and
# flushed, and boots again: what was flushed is there. KFB_CUTS says how often.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl powerfail-writer-disk powerfail-verify-disk
# GUESTS: 2
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 7200

LONG_S=600
BRICK_IP=$SERVER_IP
CUTS=${KFB_CUTS:-2}
SEED=${KFB_SEED:-1}
SIZE=16M

to_be_killed() {
	peer_has "kill-$BOOT" || peer_has "done"
}

server() {
	dax=$(devdax_setup) || bail "boot $BOOT: there is a devdax namespace"
	configure_brick "$dax" "$BRICK_IP" "lease-ms = 3000"
	[ "$BOOT" -gt 1 ] ||
		check "devdax is formatted" brickd format "$dax" --force
	check "brickd serves it" serve_brick || diag "$(cat $BRICK_LOG)"
	announce "serving-$BOOT"
	check "the client tells how it goes on" wait_for 7000 to_be_killed
	if ! peer_has "done"; then
		die_and_boot
	fi
	check "brickd stops" stop_brick
}

has_flushed() { # has_flushed N: so many flushes are noted
	[ -e /tmp/notes ] && [ "$(wc -l </tmp/notes)" -gt "$1" ]
}

is_back() { # it has learnt what became of its writes
	state_is lossy || state_is up
}

survives() { # the end of boot $boot, in the midst of writing
	rm -f /tmp/notes
	attach_disk --size $SIZE --queues 4 --fail never --retain-mb 0 || return
	_epoch=$(cat "$CTL/power_epoch")
	powerfail-writer-disk --jobs 3 --fua --seed $((SEED * 1000 + boot)) \
		/tmp/notes "$DISK" >/tmp/writer.out 2>&1 &
	_writer=$!
	wait_for $LONG_S has_flushed $((5 + (SEED * 7919 + boot * 31) % 90)) ||
		return
	announce "kill-$boot"
	boot=$((boot + 1))
	wait_for $LONG_S state_is away && wait_peer "serving-$boot" $LONG_S &&
		wait_for $LONG_S is_back || return
	[ "$(cat "$CTL/power_epoch")" -gt "$_epoch" ] || return
	kill -KILL $_writer 2>/dev/null
	wait $_writer 2>/dev/null
	powerfail-verify-disk /tmp/notes "$DISK" >/tmp/verdict
	_verdict=$?
	cat /tmp/verdict
	detach_disk >/tmp/detach.out 2>&1
	return $_verdict
}

client() {
	boot=1
	check "brickd serves" wait_peer serving-1 $LONG_S || return
	modprobe kfabric_verbs
	check "the driver loads" modprobe kfbrick || return
	while [ $boot -le "$CUTS" ]; do
		: >/tmp/verdict
		check "what was flushed survives the end of boot $boot" \
			survives || break
		diag "seed $SEED: $(cat /tmp/verdict)"
	done
	check "the driver unloads" rmmod kfbrick
	check "no object is left open" wait_for 30 fabric_idle
}

check "boot $BOOT: the wire is up" net_setup || exit
check "boot $BOOT: soft RoCE starts on eth0" rxe_setup rxe0 eth0 || exit
make_key
[ "$BOOT" -gt 1 ] || check "the guests meet" meet up $LONG_S || exit
$ROLE
announce "done"
check "the guests part" meet bye $LONG_S
