# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The semantic suite of the kernel fabric on TCP sockets.
# KO: kfabric_core kfabric_tcp kfabric_selftest
# GROUP: kfabric
# TIMEOUT: 120

check "the loop-back device is up" ip link set lo up
check "the tcp provider loads" modprobe kfabric_tcp || exit
selftest provider=tcp node=127.0.0.1 cycles="${TCP_CYCLES:-100}"
check "there were 150 assertions or more" test "$TAP_COUNT" -ge 150
selftest provider=tcp node=127.0.0.1 only=strangers
check "the tcp provider unloads" wait_for 30 rmmod kfabric_tcp
