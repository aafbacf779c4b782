# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Network namespaces of a guest, the fabric's test in one of them, and a plain
# socket that sends back.

INSIDE_IP=10.88.0.2 # nobody outside has it
ECHO_PORT=4000

in_netns() { # in_netns NAME COMMAND...
	# The shell has a program of its own of this name, which can less.
	/bin/ip netns exec "$@"
}

# linked_namespaces A B NET: two, and a link between them, whose ends have the name of
# the namespace and the addresses NET.1 and NET.2
linked_namespaces() {
	mkdir -p /var/run/netns &&
		/bin/ip netns add "$1" && /bin/ip netns add "$2" &&
		/bin/ip link add "$1" netns "$1" type veth \
			peer name "$2" netns "$2" || return
	_host=1
	for _ns in "$1" "$2"; do
		/bin/ip -n "$_ns" address add "$3.$_host/24" dev "$_ns" &&
			/bin/ip -n "$_ns" link set "$_ns" up &&
			/bin/ip -n "$_ns" link set lo up || return
		_host=2
	done
}

inside_setup() { # a namespace "inside" with $INSIDE_IP on v1, whose other end is v0
	mkdir -p /var/run/netns && /bin/ip netns add inside &&
		/bin/ip link add v0 type veth peer name v1 netns inside &&
		/bin/ip -n inside address add $INSIDE_IP/24 dev v1 &&
		/bin/ip link set v0 up &&
		/bin/ip -n inside link set v1 up &&
		/bin/ip -n inside link set lo up
}

inside() { # inside PROVIDER GROUP: the test there, whose points are this case's
	check "$1 is tried in a namespace" in_netns inside \
		modprobe kfabric_selftest provider="$1" only="$2" node=$INSIDE_IP
	selftest_end
}

inside_gone() {
	! /bin/ip link show v0 2>/dev/null
}

inside_end() {
	check "the namespace goes" /bin/ip netns delete inside
	check "its devices go, so that nobody holds it" wait_for 30 inside_gone
}

# echo_at ADDRESS [NAMESPACE]: a socket of $ECHO_KIND, rds or udp; its process is $ECHO
echo_at() {
	${2:+/bin/ip netns exec "$2"} python3 /vm/files/datagram_echo.py \
		"${ECHO_KIND:-rds}" "$1" $ECHO_PORT >/tmp/echo 2>&1 &
	# shellcheck disable=SC2034 # of cases
	ECHO=$!
	check "a plain socket waits for messages" \
		wait_for 30 grep -q bound /tmp/echo
}

# load_beside_echo NAMESPACE NET GROUP: the test of this name there, of the provider
# $ECHO_KIND, whose peer is echo_at NET.2 in the namespace that it is linked with
load_beside_echo() {
	in_netns "$1" modprobe kfabric_selftest \
		provider="${ECHO_KIND:-rds}" node="$2.1" \
		only="$3" peer="$2.2" peer_port=$ECHO_PORT nobody="$2.9"
}
