# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The rds provider while allocations fail, those of one function at a time: everything
# works or says that there is no memory, and nothing is left behind.
# NEEDS: rds python
# KO: kfabric_core kfabric_rds kfabric_selftest kfi_probe
# FILES: tests/vm/target/datagram_echo.py
# TIMEOUT: 300

check "the loop-back device is up" /bin/ip link set lo up
check "the provider loads, and RDS with it" /sbin/modprobe kfabric_rds || exit
probe_setup

fails() { # fails KIND CALLER EVERY: see alloc_fails, with the test over it
	alloc_fails "$@"
	selftest provider=rds only=alloc
	alloc_failed "$@"
}

# The test opens two domains by itself, and in each round one domain and two endpoints,
# of which one sends to one host.
fails small kfi_plain_domain 3
fails small krds_endpoint 2
fails large kfi_socket_buf_alloc 2
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
check "there are two namespaces and a link" \
	linked_namespaces here there 10.77.0 || exit
echo_at 10.77.0.2 there
alloc_fails large krds_receive_all 2
check "the test runs in a namespace" load_beside_echo here 10.77.0 remote
alloc_failed large krds_receive_all 2
selftest_end
kill $ECHO
probe_end
check "the provider unloads" wait_for 30 rmmod kfabric_rds
