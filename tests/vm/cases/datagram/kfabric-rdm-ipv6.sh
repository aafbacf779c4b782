# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Reliable datagrams over TCP between addresses of IPv6.
# KO: kfabric_core kfabric_tcp kfabric_rdm kfabric_selftest
# MODULES: ipv6
# GROUP: kfabric
# TIMEOUT: 300

check "the loop-back device is up" ip link set lo up
check "the provider loads" modprobe kfabric_tcp || exit
check "the layer loads" modprobe kfabric_rdm || exit
selftest provider="rdm;tcp" node=::1
check "there were 300 assertions or more" test "$TAP_COUNT" -ge 300
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the provider unloads" wait_for 30 rmmod kfabric_tcp
