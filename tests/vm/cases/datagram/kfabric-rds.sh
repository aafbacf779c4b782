# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Reliable datagrams over RDS sockets: the suite within this host, and a plain RDS
# socket in another network namespace, whose link is cut and mended.
# NEEDS: rds python
# KO: kfabric_core kfabric_rds kfabric_selftest
# FILES: tests/vm/target/datagram_echo.py
# GROUP: kfabric
# TIMEOUT: 300

addresses() { # RDS knows congestion where an address is none of loop-back
	/bin/ip link add d0 type dummy &&
		/bin/ip address add 10.66.0.1/24 dev d0 &&
		/bin/ip address add 10.66.0.2/24 dev d0 &&
		/bin/ip address add fd66::1/64 dev d0 nodad &&
		/bin/ip link set d0 up
}

check "this host has addresses" addresses || exit
check "the provider loads, and RDS with it" /sbin/modprobe kfabric_rds || exit
selftest provider=rds node=10.66.0.1
check "there were 200 assertions or more" test "$TAP_COUNT" -ge 200
selftest provider=rds node=fd66::1
selftest provider=rds only=msg
echo_at 10.66.0.2
selftest provider=rds node=10.66.0.1 only=remote peer=10.66.0.2 \
	peer_port=$ECHO_PORT nobody=10.66.0.9
kill $ECHO

may() { # may WHAT: has the test said so?
	dmesg_since "# cutting begins" | grep -q "the link may be $1"
}

check "there are two namespaces and a link" \
	linked_namespaces here there 10.77.0 || exit
echo_at 10.77.0.2 there
check "the test runs in a namespace" load_beside_echo here 10.77.0 remote
selftest_end
echo "# cutting begins" >/dev/kmsg
load_beside_echo here 10.77.0 cut &
load=$!
check "messages come and go" wait_for 120 may cut
check "the link is cut" /bin/ip -n there link set there down
check "that is noticed" wait_for 120 may mended
check "the link is mended" /bin/ip -n there link set there up
check "the test ends" wait $load
selftest_end
kill $ECHO
check "the provider unloads" wait_for 30 rmmod kfabric_rds
