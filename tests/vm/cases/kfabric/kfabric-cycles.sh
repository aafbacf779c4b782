# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A thousand connections, regions and providers under load leave nothing behind.
# KO: kfabric_core kfabric_loop kfabric_selftest
# GROUP: kfabric
# KARGS: slub_debug=F
# TIMEOUT: 120

check "the loop provider loads" modprobe kfabric_loop || exit
cycles 1000 provider=loop
check "the loop provider unloads" modprobe -r kfabric_loop
