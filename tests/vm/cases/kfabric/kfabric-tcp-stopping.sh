# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Peers that stop in the middle of a message over tcp, while all share one receive.
# NEEDS: python
# KO: kfabric_core kfabric_tcp kfi_target
# FILES: tests/func/tcp_peers.py tests/vm/target/stopping.py
# MEM: 1G
# TIMEOUT: 200

stopping() {
	timeout 900 python3 /vm/files/stopping.py >/tmp/points 2>&1
}

check "the loop-back device is up" ip link set lo up
check "the provider and its target load" \
	modprobe kfi_target shared=1 op_timeout_ms=2000 || exit
check "the peers come to their end" stopping
script_points /tmp/points
check "the target unloads" rmmod kfi_target
check "no object is left open" wait_for 10 fabric_idle
check "the provider unloads" rmmod kfabric_tcp
