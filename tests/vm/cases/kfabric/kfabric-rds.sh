# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Reliable datagrams over RDS sockets: the suite within this host, and a plain RDS
# socket in another network namespace, whose link is cut and mended.
# NEEDS: rds python
# KO: kfabric_core kfabric_rds kfabric_selftest
# FILES: tests/vm/target/rds_echo.py
# GROUP: kfabric
# TIMEOUT: 300

# The shell has programs of its own of these names, which can less.
ip() {
	/bin/ip "$@"
}

echo_at() { # echo_at ADDRESS [COMMAND...]: a plain RDS socket sends back, $ECHO
	_at=$1
	shift
	"$@" python3 /vm/files/rds_echo.py "$_at" 4000 >/tmp/echo 2>&1 &
	ECHO=$!
	check "a plain socket waits for messages" \
		wait_for 30 grep -q bound /tmp/echo
}

addresses() { # RDS knows congestion where an address is none of loop-back
	ip link add d0 type dummy && ip address add 10.66.0.1/24 dev d0 &&
		ip address add 10.66.0.2/24 dev d0 &&
		ip address add fd66::1/64 dev d0 nodad && ip link set d0 up
}

check "this host has addresses" addresses || exit
check "the provider loads, and RDS with it" /sbin/modprobe kfabric_rds || exit
selftest provider=rds node=10.66.0.1
check "there were 200 assertions or more" test "$TAP_COUNT" -ge 200
selftest provider=rds node=fd66::1
selftest provider=rds only=msg
echo_at 10.66.0.2
selftest provider=rds node=10.66.0.1 only=remote peer=10.66.0.2 \
	peer_port=4000 nobody=10.66.0.9
kill $ECHO

two_namespaces() {
	mkdir -p /var/run/netns && ip netns add here && ip netns add there &&
		ip link add v0 netns here type veth peer name v1 netns there &&
		ip -n here address add 10.77.0.1/24 dev v0 &&
		ip -n there address add 10.77.0.2/24 dev v1 &&
		ip -n here link set v0 up && ip -n there link set v1 up &&
		ip -n here link set lo up && ip -n there link set lo up
}

load() { # load GROUP: the test of this name, in the first namespace
	ip netns exec here modprobe kfabric_selftest provider=rds \
		node=10.77.0.1 only="$1" peer=10.77.0.2 peer_port=4000 \
		nobody=10.77.0.9
}

unload() { # its points are this case's, and it leaves nothing
	cat $FABRIC/selftest/results >/tmp/results
	ktap /tmp/results
	check "the test unloads" rmmod kfabric_selftest
	check "no object is left open" wait_for 10 fabric_idle
}

may() { # may WHAT: has the test said so?
	dmesg_since "# cutting begins" | grep -q "the link may be $1"
}

check "there are two namespaces and a link" two_namespaces || exit
echo_at 10.77.0.2 ip netns exec there
check "the test runs in a namespace" load remote
unload
echo "# cutting begins" >/dev/kmsg
load cut &
load=$!
check "messages come and go" wait_for 120 may cut
check "the link is cut" ip -n there link set v1 down
check "that is noticed" wait_for 120 may mended
check "the link is mended" ip -n there link set v1 up
check "the test ends" wait $load
unload
kill $ECHO
check "the provider unloads" wait_for 30 rmmod kfabric_rds
