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

slab_kib() { # memory of the kernel that cannot be reclaimed
	awk '/^(SUnreclaim|VmallocUsed):/ { s += $2 } END { print s }' \
		/proc/meminfo
}

many_connections() { # a leak of one endpoint would be 100 MiB here
	modprobe kfabric_selftest provider=loop only=cycle cycles=1000 &&
		rmmod kfabric_selftest
}

check "the loop provider loads" modprobe kfabric_loop || exit
check "the suite passes on loop" run_suite loop cycles=1000
diag "$passed passed, $failed failed"
before=$(slab_kib)
check "1000 more connections come and go" many_connections
after=$(slab_kib)
diag "$before KiB before, $after KiB after"
check "they leave no memory behind" test $((after - before)) -lt 4096
check "no object is left" test ! -s /sys/kernel/debug/kfabric/objects
check "the loop provider unloads" modprobe -r kfabric_loop
for mode in 1 4 5; do
	modprobe kfabric_loop mr_mode=$mode
	check "the suite passes on loop with mr_mode $mode" \
		run_suite loop cycles=10
	modprobe -r kfabric_loop
done
