# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Datagrams over verbs on soft RoCE: the suite over IPv4 and IPv6, a host that is not
# there, rdma-core's udaddy as server and as client, peers that answer late or were born
# anew, an MTU that rises, packets longer than any, allocations that fail, and the
# device's removal.
# NEEDS: rdma python
# MODULES: ipv6 veth
# KO: kfabric_core kfabric_verbs kfabric_selftest kfi_probe
# FILES: tests/vm/target/ud_packets.py
# MEM: 1G
# TIMEOUT: 400

V6=fd00:77::1
PORT=7174 # udaddy knows no other
WIRE=10.78.0

has_gid() { # has_gid PATTERN
	grep -q "$1" /sys/class/infiniband/rxe0/ports/1/gids/* 2>/dev/null
}

listens_ud() { # somebody does, at udaddy's port
	rdma resource show cm_id | grep -q ":$PORT "
}

ud() { # ud PARAMETER=VALUE...: the suite, of datagrams
	selftest provider=verbs dgram=1 "$@"
}

begins() { # begins GROUP [ADDRESS]: the test of this name runs from here on
	echo "# $CASE: now $1" >/dev/kmsg
	modprobe kfabric_selftest provider=verbs dgram=1 \
		node="${2:-$LOCAL_IP}" peer_port=$PORT only="$1" &
	load=$!
}

may_go() { # may_go TEXT: so says the test
	dmesg_since "# $CASE: now" | grep -q "now $1 may"
}

goes_on() { # the test, which waits for that
	echo 1 >/sys/module/kfabric_selftest/parameters/go
}

ends() { # the test does
	check "the test ends" wait $load
	selftest_end
}

check "the verbs provider loads" modprobe kfabric_verbs || exit
check "soft RoCE starts" rxe_setup || exit
check "its interface has an address of IPv6" \
	/bin/ip address add $V6/64 dev dummy0 nodad
check "so has the device" wait_for 10 has_gid "^fd00:0077:"
ud node="$LOCAL_IP"
check "there were 150 assertions or more" test "$TAP_COUNT" -ge 150
ud node=$V6
ud node="$LOCAL_IP" only=absent
ud node=$V6 only=absent

udaddy -b "$LOCAL_IP" >/tmp/udaddy 2>&1 &
server=$!
check "udaddy waits for messages" wait_for 30 listens_ud
ud node="$LOCAL_IP" only=server peer="$LOCAL_IP" peer_port=$PORT
check "it ends" wait_for 30 is_over $server
check "it has sent all its answers" grep -q "transfers complete" /tmp/udaddy
cat /tmp/udaddy

begins client
check "an endpoint waits for udaddy" wait_for 30 may_go "the client"
udaddy -s "$LOCAL_IP" >/tmp/udaddy 2>&1 &
client=$!
check "the test ends" wait $load
kill $client # it waits for answers
selftest_end

probe_setup
probe hold kfiv_dgram_cancel_rx
probe delay kfiv_flush_left 5000 times=1
begins late_cancel
check "who cancels is held" wait_for 30 probed_above kfiv_dgram_cancel_rx 0
goes_on
check "the endpoint stops meanwhile" wait_for 30 probed_above kfiv_flush_left 0
probe release
ends
probe clear

probe hold rdma_accept
begins asked_crowd
check "many are asked" wait_for 60 may_go "the answer"
check "the peer's answer is held" wait_for 30 probed_above rdma_accept 0
probe release
ends
probe clear

# The first question, and what is tried a second time when it was not asked.
probe return "$(alloc_function small)" 0 by=kfiv_ask_start every=2 times=1
ud node="$LOCAL_IP" only=asked_again
alloc_failed small kfiv_ask_start 2

begins claim
check "a peer is known" wait_for 30 may_go "the peer"
# The new one is answered, and answers.
probe hold rdma_accept every=2
goes_on
check "what it claims is not believed" wait_for 60 may_go "the answer"
check "as its answer is held" probed_above rdma_accept 0
probe release
ends
probe clear

check "the MTU is a small one" ip link set dummy0 mtu 1500
begins mtu
check "an endpoint is open" wait_for 30 may_go "the MTU"
check "the MTU rises" ip link set dummy0 mtu 4200
goes_on
ends

# What nobody's device would send: a wire's other end does.
wire() { # a device on one of its ends
	/bin/ip link add w0 mtu 9000 type veth peer name w1 mtu 9000 &&
		/bin/ip address add $WIRE.1/24 dev w0 &&
		ip link set w0 up && ip link set w1 up && rxe_setup rxe1 w0
}

qp_of() { # qp_of DEVICE: the number of its datagram queue pair
	rdma resource show qp link "$1" |
		sed -n '/type UD/s/.*lqpn \([0-9]*\).*/\1/p'
}

check "there is a wire" wire
begins stray $WIRE.1
check "an endpoint is open there" wait_for 30 may_go "the packets"
check "packets are sent" python3 /vm/files/ud_packets.py w1 \
	"$(cat /sys/class/net/w0/address)" $WIRE.2 $WIRE.1 "$(qp_of rxe1)" \
	4100 8800 100
ends
check "the wire goes" rdma link delete rxe1

fails() { # fails KIND CALLER EVERY: see alloc_fails, with the test over it
	alloc_fails "$@"
	ud node="$LOCAL_IP" only=alloc
	alloc_failed "$@"
}
# In each round the test opens two endpoints, and one asks for the other.
fails small kfiv_dgram_endpoint 3
fails large kfiv_rbufs_alloc 3
fails any kfiv_rbufs_alloc 3
fails pages kfiv_rbufs_alloc 3
fails small kfiv_rbufs_alloc 700
fails small kfiv_ask_start 2
fails small kfiv_peer_ask 2
fails small kfiv_peer_learn 2
fails small kfiv_ah_new 2
probe_end

begins unplug
check "a message arrives before the removal" wait_for 30 may_go "the device"
check "the device goes, although it is in use" timeout 60 rdma link delete rxe0
ends
check "the verbs provider unloads" wait_for 30 rmmod kfabric_verbs
