# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A brick in a guest of its own (GUESTS: 2), which is killed and boots again while
# the disks of the other guest live on. The case has with_disks, which does what is
# to be done there from boot=1 on, and calls reboots.

# ---- in the brick's guest, at each boot

to_be_killed() {
	peer_has "kill-$BOOT" || peer_has "done"
}

serve_a_boot() {
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

# ---- in the disks' guest

reboot_brick() { # the next boot's number is in boot
	announce "kill-$boot"
	boot=$((boot + 1))
	wait_for $LONG_S state_is connecting && wait_peer "serving-$boot" $LONG_S
}

attach_there() {
	check "brickd serves" wait_peer serving-1 $LONG_S || return
	modprobe kfabric_verbs
	check "the driver loads" modprobe kfbrick || return
	with_disks
	check "the driver unloads" rmmod kfbrick
	check "no object is left open" wait_for 30 fabric_idle
}

reboots() {
	LONG_S=600 BRICK_IP=$SERVER_IP
	check "boot $BOOT: the wire is up" net_setup || exit
	check "boot $BOOT: soft RoCE starts on eth0" rxe_setup rxe0 eth0 || exit
	make_key
	[ "$BOOT" -gt 1 ] || check "the guests meet" meet up $LONG_S || exit
	case $ROLE in
	server) serve_a_boot ;;
	client) attach_there ;;
	esac
	announce "done"
	check "the guests part" meet bye $LONG_S
}
