# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The network device with an RDS endpoint's address goes away while it is in use; the
# modules below it cannot.
# NEEDS: rds python
# KO: kfabric_core kfabric_rds kfabric_selftest
# FILES: tests/vm/target/rds_echo.py
# GROUP: kfabric
# TIMEOUT: 200

# The shell has programs of its own of these names, which can less.
ip() {
	/bin/ip "$@"
}

two_namespaces() {
	mkdir -p /var/run/netns && ip netns add near && ip netns add far &&
		ip link add g0 netns near type veth peer name g1 netns far &&
		ip -n near address add 10.78.0.1/24 dev g0 &&
		ip -n far address add 10.78.0.2/24 dev g1 &&
		ip -n near link set g0 up && ip -n far link set g1 up &&
		ip -n near link set lo up && ip -n far link set lo up
}

may_go() {
	dmesg_since "# going begins" | grep -q "the device may go"
}

check "the provider loads, and RDS with it" /sbin/modprobe kfabric_rds || exit
check "there are two namespaces and a link" two_namespaces || exit
ip netns exec far python3 /vm/files/rds_echo.py 10.78.0.2 4000 >/tmp/echo 2>&1 &
echo=$!
check "a plain socket waits for messages" wait_for 30 grep -q bound /tmp/echo
echo "# going begins" >/dev/kmsg
ip netns exec near modprobe kfabric_selftest provider=rds node=10.78.0.1 \
	only=gone peer=10.78.0.2 peer_port=4000 nobody=10.78.0.9 &
load=$!
check "messages come and go" wait_for 60 may_go
check_fails "the provider stays while it is in use" rmmod kfabric_rds
check_fails "and so does RDS" rmmod rds
check_fails "and what RDS goes over" rmmod rds_tcp
check "the device goes, although it is in use" ip -n near link delete g0
check "the test ends" wait $load
cat $FABRIC/selftest/results >/tmp/results
ktap /tmp/results
check "the test unloads" rmmod kfabric_selftest
check "no object is left open" wait_for 10 fabric_idle
kill $echo
check "the provider unloads" wait_for 30 rmmod kfabric_rds
check "the namespaces go" ip netns delete near
ip netns delete far
