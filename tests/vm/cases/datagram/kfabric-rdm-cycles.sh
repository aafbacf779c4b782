# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Peers of an unconnected endpoint die, with messages under way, and are connected
# with again: nothing is left of any of them. KFB_CYCLES is how often.
# KO: kfabric_core kfabric_loop kfabric_tcp kfabric_rdm kfabric_selftest
# KARGS: slub_debug=F
# MEM: 1G
# TIMEOUT: 200
# MEASURES: yes

check "the loop-back device is up" ip link set lo up
check "the providers load" modprobe -a kfabric_loop kfabric_tcp kfabric_rdm ||
	exit
for below in ${KFB_CYCLES_OF:-loop tcp}; do
	come_and_go "${KFB_CYCLES:-400}" provider="rdm;$below"
done
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the providers unload" wait_for 30 rmmod kfabric_loop kfabric_tcp
