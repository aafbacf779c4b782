# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The semantic suite of kfabric on the fault layer, over loop, without faults.
# KO: kfabric_core kfabric_loop kfabric_fault kfabric_selftest
# GROUP: kfabric
# TIMEOUT: 180

check "the layer loads" modprobe kfabric_fault || exit
check "the layer shows its knobs" test -e "$FABRIC"/fault/power_cut
selftest provider="fault;loop" cycles=100
check "no fault was made" sh -c \
	"! grep -v ' 0\$' $FABRIC/fault/counters"
check "the loop provider unloads" rmmod kfabric_loop
check "the layer unloads" rmmod kfabric_fault
