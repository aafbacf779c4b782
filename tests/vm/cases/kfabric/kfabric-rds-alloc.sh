# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The rds provider while allocations fail, those of one function at a time: everything
# works or says that there is no memory, and nothing is left behind.
# NEEDS: rds python
# KO: kfabric_core kfabric_rds kfabric_selftest kfi_probe
# FILES: tests/vm/target/rds_echo.py
# TIMEOUT: 300

# The shell has programs of its own of these names, which can less.
ip() {
	/bin/ip "$@"
}

check "the loop-back device is up" ip link set lo up
check "the provider loads, and RDS with it" /sbin/modprobe kfabric_rds || exit
probe_setup

fails() { # fails KIND CALLER EVERY: see alloc_fails, with the test over it
	alloc_fails "$@"
	selftest provider=rds only=alloc
	alloc_failed "$@"
}

# The test opens two domains by itself, and in each round one domain and two endpoints,
# of which one sends to one host.
fails small krds_domain 3
fails small krds_endpoint 2
fails large krds_endpoint 2
fails small kfi_plain_cq_open 2
fails small kfi_plain_av_open 2
fails large kfi_post_alloc_slots 2
fails small krds_host_get 2
probe return krds_socket_open -12 every=2
selftest provider=rds only=alloc
check "sockets: some have failed" probed_above krds_socket_open 0
probe clear

# Messages that come back before there is a receive for them are kept, while answers
# are waited for: where that fails they stay in the socket, and all goes on.
two_namespaces() {
	mkdir -p /var/run/netns && ip netns add here && ip netns add there &&
		ip link add v0 netns here type veth peer name v1 netns there &&
		ip -n here address add 10.77.0.1/24 dev v0 &&
		ip -n there address add 10.77.0.2/24 dev v1 &&
		ip -n here link set v0 up && ip -n there link set v1 up &&
		ip -n here link set lo up && ip -n there link set lo up
}

check "there are two namespaces and a link" two_namespaces || exit
ip netns exec there python3 /vm/files/rds_echo.py 10.77.0.2 4000 >/tmp/echo 2>&1 &
echo=$!
check "a plain socket waits for messages" wait_for 30 grep -q bound /tmp/echo
alloc_fails large krds_receive_all 2
check "the test runs in a namespace" ip netns exec here modprobe \
	kfabric_selftest provider=rds node=10.77.0.1 only=remote \
	peer=10.77.0.2 peer_port=4000 nobody=10.77.0.9
cat $FABRIC/selftest/results >/tmp/results
ktap /tmp/results
alloc_failed large krds_receive_all 2
check "the test unloads" rmmod kfabric_selftest
check "no object is left open" wait_for 10 fabric_idle
kill $echo
probe_end
check "the provider unloads" wait_for 30 rmmod kfabric_rds
