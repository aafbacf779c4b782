# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The brick's machine is killed and boots again, the disk's lives on. What was
# written and not flushed counts as gone: a disk with copies writes them again,
# and fio finds no error; one without tells the next flush. KFB_REBOOTS says how
# often the former is shown.
# NEEDS: rdma nvdimm fio fs
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# GUESTS: 2
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 7200

LONG_S=600
BRICK_IP=$SERVER_IP
REBOOTS=${KFB_REBOOTS:-1}
SIZE_MIB=16

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

reboot_brick() { # the next boot's number is in boot
	announce "kill-$boot"
	boot=$((boot + 1))
	wait_for $LONG_S state_is away && wait_peer "serving-$boot" $LONG_S
}

survives() {
	reboot_brick && wait_for $LONG_S state_is up
}

with_copies() {
	check "a disk with copies is attached" attach_disk \
		--size ${SIZE_MIB}M --queues 2 --fail never --retain-mb 64 ||
		return
	begin_load "$DISK" $SIZE_MIB
	while [ $boot -le "$REBOOTS" ]; do
		check "fio writes before the end of boot $boot" is_busy || break
		epoch=$(cat "$CTL/power_epoch")
		check "the end of boot $boot is survived" survives ||
			diag "$(cat "$CTL/state" "$CTL/last_error")"
		check "the power epoch is another" \
			test "$(cat "$CTL/power_epoch")" -gt "$epoch"
	done
	check "fio writes after the last" is_busy
	check "fio has found no error" end_load
	diag "fio was run $(cat /tmp/rounds) times; $(cat "$CTL/retain")"
	check "copies were written again" test "$(retained replays)" -gt 0
	check "it is detached" detach_disk
}

without_copies() {
	check "a disk without copies is attached" attach_disk \
		--size ${SIZE_MIB}M --queues 2 --fail never --retain-mb 0 ||
		return
	check "it is written and not flushed" dd if=/dev/urandom of="$DISK" \
		bs=64k count=16 oflag=direct
	check "the brick's machine is killed and boots" reboot_brick
	check "the disk says that it has lost writes" \
		wait_for $LONG_S state_is lossy
	diag "$(cat "$CTL/last_error")"
	check_fails "the next flush fails" xfs_io -c fsync "$DISK"
	check_fails "detaching says so" detach_disk
}

client() {
	boot=1
	check "brickd serves" wait_peer serving-1 $LONG_S || return
	modprobe kfabric_verbs
	check "the driver loads" modprobe kfbrick || return
	with_copies
	without_copies
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
