# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Datagrams over verbs on soft RoCE: the suite over IPv4 and IPv6, a host that is not
# there, rdma-core's udaddy as server and as client, allocations that fail, and the
# device's removal.
# NEEDS: rdma
# MODULES: ipv6
# KO: kfabric_core kfabric_verbs kfabric_selftest kfi_probe
# MEM: 1G
# TIMEOUT: 400

V6=fd00:77::1
PORT=7174 # udaddy knows no other

has_gid() { # has_gid PATTERN
	grep -q "$1" /sys/class/infiniband/rxe0/ports/1/gids/* 2>/dev/null
}

listens_ud() { # somebody does, at udaddy's port
	rdma resource show cm_id | grep -q ":$PORT "
}

ud() { # ud PARAMETER=VALUE...: the suite, of datagrams
	selftest provider=verbs dgram=1 "$@"
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

may_go() { # may_go TEXT: so says the test
	dmesg_since "# $CASE: now" | grep -q "$1"
}

echo "# $CASE: now a client" >/dev/kmsg
modprobe kfabric_selftest provider=verbs dgram=1 node="$LOCAL_IP" \
	only=client peer_port=$PORT &
load=$!
check "an endpoint waits for udaddy" wait_for 30 may_go "the client may come"
udaddy -s "$LOCAL_IP" >/tmp/udaddy 2>&1 &
client=$!
check "the test ends" wait $load
kill $client # it waits for answers
selftest_end

probe_setup
fails() { # fails KIND CALLER EVERY: see alloc_fails, with the test over it
	alloc_fails "$@"
	ud node="$LOCAL_IP" only=alloc
	alloc_failed "$@"
}
# In each round the test opens two endpoints, and one asks for the other.
fails small kfiv_dgram_endpoint 3
fails large kfiv_rbufs_alloc 3
fails any kfiv_rbufs_alloc 700
fails small kfiv_ask_start 2
fails small kfiv_peer_ask 2
fails small kfiv_peer_learn 2
fails small kfiv_ah_new 2
probe_end

echo "# $CASE: now the removal" >/dev/kmsg
modprobe kfabric_selftest provider=verbs dgram=1 node="$LOCAL_IP" only=unplug &
load=$!
check "a message arrives before the removal" wait_for 30 may_go "device may go"
check "the device goes, although it is in use" timeout 60 rdma link delete rxe0
check "the test ends" wait $load
selftest_end
check "the verbs provider unloads" wait_for 30 rmmod kfabric_verbs
