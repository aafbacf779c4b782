# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Each fault of the fault layer has its effect; power cuts lose what they must.
# KO: kfabric_core kfabric_loop kfabric_fault kfabric_fault_test
# GROUP: kfabric
# TIMEOUT: 180

fault_test() { # fault_test [PARAMETER=VALUE...]
	_mark="fault test $* begins"
	echo "$_mark" >/dev/kmsg
	modprobe kfabric_fault_test "$@" || bail "the test loads"
	dmesg_since "$_mark" >/tmp/ktap
	ktap /tmp/ktap
	check "the test unloads" rmmod kfabric_fault_test
	check "no object is left open" wait_for 10 fabric_idle
}

for seed in 1 2 3; do
	check "the layer loads" modprobe kfabric_fault seed=$seed || exit
	fault_test provider="fault;loop"
	check "knobs are back at 0" grep -qx 0 "$FABRIC/fault/power"
	check "the layer unloads" rmmod kfabric_fault
done
