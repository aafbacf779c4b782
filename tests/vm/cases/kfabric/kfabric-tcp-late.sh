# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A connection over tcp ends while packets of it wait for the network, with pages of
# whoever sent them: what is written into these afterwards reaches nobody.
# NEEDS: netem
# KO: kfabric_core kfabric_tcp kfabric_selftest kfi_probe
# TIMEOUT: 200

check "the loop-back device is up" ip link set lo up
check "the tcp provider loads" modprobe kfabric_tcp || exit
modprobe sch_netem
check "packets are held back" \
	/bin/tc qdisc add dev lo root netem delay 400ms || exit
selftest provider=tcp node=127.0.0.1 only=late
# The peer's socket has what came, and whoever reads it is late.
probe_setup
probe delay ktcp_data_ready 200
selftest provider=tcp node=127.0.0.1 only=late
check "the peer was late" probed_above ktcp_data_ready 0
probe_end
check "packets are held back no more" /bin/tc qdisc del dev lo root
check "the tcp provider unloads" wait_for 30 rmmod kfabric_tcp
