# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The semantic suite of the kernel fabric on the loop provider.
# KO: kfabric_core kfabric_loop kfabric_selftest
# GROUP: kfabric
# MEM: 1G
# TIMEOUT: 120

check "the loop provider loads" modprobe kfabric_loop || exit
selftest provider=loop
check "the loop provider unloads" modprobe -r kfabric_loop
