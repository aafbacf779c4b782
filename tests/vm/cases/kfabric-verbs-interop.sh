# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# kfabric's verbs provider and an unmodified libfabric program, both roles.
# NEEDS: libfabric
# KO: kfabric_core kfabric_verbs kfi_interop
# BIN: ofi_peer
# MEM: 2G
# TIMEOUT: 600

PORT=7471

# interop ROLE PEER'S ROLE: the kernel's tests, then the peer's own points
interop() {
	check "$1: the kernel's end loads" \
		modprobe kfi_interop role="$1" node="$LOCAL_IP" service="$PORT"
	dmesg_since "# interop begins" >/tmp/interop.log
	ktap /tmp/interop.log
	check "$1: the kernel's end unloads" rmmod kfi_interop
}

# peer ROLE: again when it was killed, which is part of the test
peer() {
	while :; do
		ofi_peer "$1" "$LOCAL_IP" "$PORT" >>/tmp/peer.log
		[ $? -eq 137 ] || break
	done
}

# points: the peers' points; those that were killed made no plan
points() {
	echo "1..$(grep -c '^ok\|^not ok' /tmp/peer.log)" >>/tmp/peer.log
	ktap /tmp/peer.log
	: >/tmp/peer.log
}

check "soft RoCE starts on dummy0" rxe_setup || exit
check "the provider loads" modprobe kfabric_verbs || exit

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

check "the provider unloads" rmmod kfabric_verbs
