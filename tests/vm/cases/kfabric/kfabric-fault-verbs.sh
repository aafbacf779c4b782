# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The fault layer over verbs: the suite without faults, then each fault.
# NEEDS: rdma
# KO: kfabric_core kfabric_verbs kfabric_fault kfabric_selftest
# KO: kfabric_fault_test
# GROUP: kfabric
# MEM: 1G
# TIMEOUT: 300

check "soft RoCE starts" rxe_setup || exit
check "the verbs provider loads" modprobe kfabric_verbs || exit
check "the layer loads" modprobe kfabric_fault || exit
selftest provider="fault;verbs" node="$LOCAL_IP" cycles=20
check "no fault was made" sh -c \
	"! grep -v ' 0\$' $FABRIC/fault/counters"
_mark="fault test over verbs begins"
echo "$_mark" >/dev/kmsg
modprobe kfabric_fault_test provider="fault;verbs" node="$LOCAL_IP" ||
	bail "the test loads"
dmesg_since "$_mark" >/tmp/ktap
ktap /tmp/ktap
check "the test unloads" rmmod kfabric_fault_test
check "no object is left open" wait_for 10 fabric_idle
check "the layer unloads" rmmod kfabric_fault
check "the verbs provider unloads" rmmod kfabric_verbs
