# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A kernel's provider and an unmodified libfabric program, in both roles.

PORT=7471

# interop ROLE PEER'S ROLE: the kernel's tests, then the peer's own points
interop() {
	check "$1: the kernel's end loads" \
		modprobe kfi_interop role="$1" provider="$PROVIDER" \
		node="$MEET" service="$PORT"
	dmesg_since "# interop begins" >/tmp/interop.log
	ktap /tmp/interop.log
	check "$1: the kernel's end unloads" rmmod kfi_interop
}

# peer ROLE: again when it was killed, which is part of the test
peer() {
	while :; do
		ofi_peer "$1" "$MEET" "$PORT" "$PROVIDER" >>/tmp/peer.log
		[ $? -eq 137 ] || break
	done
}

# points: the peers' points; those that were killed made no plan
points() {
	echo "1..$(grep -c '^ok\|^not ok' /tmp/peer.log)" >>/tmp/peer.log
	ktap /tmp/peer.log
	: >/tmp/peer.log
}

interop_roles() { # interop_roles PROVIDER ADDRESS: of both sides
	PROVIDER=$1 MEET=$2
	peer server &
	loop=$!
	echo "# interop begins" >/dev/kmsg
	interop client
	kill $loop
	killall ofi_peer
	points

	peer client &
	loop=$!
	echo "# interop begins" >/dev/kmsg
	interop server
	check "the client ends" wait $loop
	points
}
