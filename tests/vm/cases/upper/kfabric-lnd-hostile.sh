# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The LNet-like driver before a peer that breaks the rules: messages that go another way
# than their kind, are another node's, or have another length; buffers and memory that are
# not what was offered; and the same thing without end, while others are to be served.
# KO: kfabric_core kfabric_loop kfabric_tcp kfabric_rdm kfabric_lnd kfabric_lnd_test
# GROUP: kfabric
# MEM: 1G
# TIMEOUT: 180

hostile() { # hostile PROVIDER
	check "the hostile peer loads over $1" \
		modprobe kfabric_lnd_test hostile=1 prov="$1" || return
	ktap $FABRIC/lnd_test/results
	check "the hostile peer unloads" rmmod kfabric_lnd_test
	check "no object is left open" wait_for 10 fabric_idle
}

check "the loop-back device is up" ip link set lo up
check "the modules load" modprobe -a kfabric_loop kfabric_tcp kfabric_rdm \
	kfabric_lnd || exit
for provider in "rdm;loop" "rdm;tcp"; do
	hostile "$provider"
done
check "the driver unloads" rmmod kfabric_lnd
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the providers unload" wait_for 30 rmmod kfabric_tcp kfabric_loop
