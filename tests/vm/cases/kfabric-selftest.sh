# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The semantic suite, run in the kernel on each provider that is there.
# NEEDS: rdma
# KO: kfabric_core kfabric_loop kfabric_selftest
# MEM: 1G
# TIMEOUT: 180

have_module() {
	modinfo "$1" >/dev/null 2>&1
}

check "the loop provider loads" modprobe kfabric_loop || exit
if have_module kfabric_verbs; then
	check "soft RoCE starts" rxe_setup || exit
	check "the verbs provider loads" modprobe kfabric_verbs
fi
if have_module kfabric_fault; then
	check "the fault provider loads" modprobe kfabric_fault
fi
test_module kfabric_selftest
check "no object is left" sh -c '! grep . /sys/kernel/debug/kfabric/objects'
