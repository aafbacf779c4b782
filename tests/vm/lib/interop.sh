# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A kernel's provider and an unmodified libfabric program, in both roles. PEER is
# the program, PEER_PROVIDER its name of the provider where that is another one.
# STRICT is 1 where the peer's provider minds what it may not be sent, STEP that
# of the alignments that are tried, ONLY the names of the tests, with commas, or
# nothing for all of them.

PORT=7471
PEER=ofi_peer
PEER_PROVIDER=
STRICT=0
STEP=1
ONLY=

# interop ROLE PEER'S ROLE: the kernel's tests, then the peer's own points
interop() {
	check "$1: the kernel's end loads" \
		modprobe kfi_interop role="$1" provider="$PROVIDER" \
		node="$MEET" service="$PORT" strict="$STRICT" step="$STEP" \
		only="$ONLY"
	dmesg_since "# interop begins" >/tmp/interop.log
	ktap /tmp/interop.log
	check "$1: the kernel's end unloads" rmmod kfi_interop
}

# peer ROLE: again when it was killed, which is part of the test
peer() {
	while [ ! -e /tmp/peer.end ]; do
		# shellcheck disable=SC2086 # a loader with its words, or none
		$PEER "$1" "$MEET" "$PORT" "${PEER_PROVIDER:-$PROVIDER}" \
			>>/tmp/peer.log 2>&1 &
		echo $! >/tmp/peer.pid
		wait $!
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
	rm -f /tmp/peer.end
	peer server &
	loop=$!
	echo "# interop begins" >/dev/kmsg
	interop client
	touch /tmp/peer.end
	kill "$(cat /tmp/peer.pid)"
	wait $loop
	points

	rm -f /tmp/peer.end
	peer client &
	loop=$!
	echo "# interop begins" >/dev/kmsg
	interop server
	check "the client ends" wait $loop
	points
}
