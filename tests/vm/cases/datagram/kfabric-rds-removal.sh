# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The network device with an RDS endpoint's address goes away while it is in use; the
# modules below it cannot.
# NEEDS: rds python
# KO: kfabric_core kfabric_rds kfabric_selftest
# FILES: tests/vm/target/datagram_echo.py
# GROUP: kfabric
# TIMEOUT: 200

may_go() {
	dmesg_since "# going begins" | grep -q "the device may go"
}

check "the provider loads, and RDS with it" /sbin/modprobe kfabric_rds || exit
check "there are two namespaces and a link" \
	linked_namespaces near far 10.78.0 || exit
echo_at 10.78.0.2 far
echo "# going begins" >/dev/kmsg
load_beside_echo near 10.78.0 gone &
load=$!
check "messages come and go" wait_for 60 may_go
check_fails "the provider stays while it is in use" rmmod kfabric_rds
check_fails "and so does RDS" rmmod rds
check_fails "and what RDS goes over" rmmod rds_tcp
check "the device goes, although it is in use" /bin/ip -n near link delete near
check "the test ends" wait $load
selftest_end
kill $ECHO
check "the provider unloads" wait_for 30 rmmod kfabric_rds
check "the namespaces go" /bin/ip netns delete near
/bin/ip netns delete far
