# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The semantic suite of kfabric on the loop provider.
# KO: kfabric_core kfabric_loop kfabric_selftest
# GROUP: kfabric
# TIMEOUT: 120

score=/sys/kernel/debug/kfabric/selftest/score
results=/sys/kernel/debug/kfabric/selftest/results

run_suite() { # run_suite PROVIDERS [PARAMETER=VALUE...]
	_names=$1
	shift
	modprobe kfabric_selftest "provider=$_names" "$@" || return
	read -r passed failed <$score
	sed -n 's/^ *not ok/failed:/p' $results
	modprobe -r kfabric_selftest
	[ "$passed" -ge 150 ] && [ "$failed" -eq 0 ]
}

check "the loop provider loads" modprobe kfabric_loop || exit
check "the suite passes on loop" run_suite loop cycles=100
diag "$passed passed, $failed failed"
check "no object is left" wait_for 10 fabric_idle
check "the loop provider unloads" modprobe -r kfabric_loop
for mode in 1 4 5; do
	modprobe kfabric_loop mr_mode=$mode
	check "the suite passes on loop with mr_mode $mode" \
		run_suite loop cycles=10
	modprobe -r kfabric_loop
done
