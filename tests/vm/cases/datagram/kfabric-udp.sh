# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Datagrams over UDP sockets: the suite within this host over IPv4 and IPv6, a plain UDP
# socket in another network namespace, a socket without room, and allocations that fail.
# NEEDS: python
# MODULES: veth
# KO: kfabric_core kfabric_udp kfabric_selftest kfi_probe
# FILES: tests/vm/target/datagram_echo.py
# TIMEOUT: 200

export ECHO_KIND=udp
check "the loop-back device is up" /bin/ip link set lo up
check "the provider loads" /sbin/modprobe kfabric_udp || exit
selftest provider=udp node=127.0.0.1
check "there were 150 assertions or more" test "$TAP_COUNT" -ge 150
selftest provider=udp node=::1

check "there are two namespaces and a link" \
	linked_namespaces here there 10.77.0 || exit
echo_at 10.77.0.2 there
check "the test runs in a namespace" load_beside_echo here 10.77.0 remote
selftest_end
kill $ECHO

probe_setup
probe return kfi_socket_send -11
selftest provider=udp only=full
check "the socket was said to be full" probed_above kfi_socket_send 0
probe clear

fails() { # fails KIND CALLER EVERY: see alloc_fails, with the test over it
	alloc_fails "$@"
	selftest provider=udp only=alloc
	alloc_failed "$@"
}

# In each round the test opens three domains and two endpoints.
fails small kfi_plain_domain 3
fails small kudp_endpoint 2
fails large kfi_socket_buf_alloc 2
fails large kfi_post_alloc_slots 2
probe return kudp_socket_open -12 every=2
selftest provider=udp only=alloc
check "sockets: some have failed" probed_above kudp_socket_open 0
probe_end
check "the provider unloads" wait_for 30 rmmod kfabric_udp
