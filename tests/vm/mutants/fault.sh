# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Each way to break the fault layer is noticed by the test that is to notice it.
# KO: kfabric_core kfabric_loop kfabric_fault kfabric_fault_test
# TIMEOUT: 1500

# run_mutant NUMBER NAME: its failed points are in /tmp/failed
run_mutant() {
	_mark="mutant $2 begins"
	echo "$_mark" >/dev/kmsg
	modprobe kfabric_fault mutant="$1" || return
	modprobe kfabric_fault_test || return
	dmesg_since "$_mark" | sed -n 's/^.*not ok [0-9]* - /: /p' >/tmp/failed
	rmmod kfabric_fault_test && wait_for 10 rmmod kfabric_fault
}

noticed() { # noticed DESCRIPTION: the point of this name has failed
	grep -qF -e ": $1 (" /tmp/failed
}

modprobe kfabric_loop
while IFS='|' read -r number name wanted; do
	check "$name runs" run_mutant "$number" "$name" || exit
	if [ "$name" = intact ]; then
		check "no test fails without a mutant" test ! -s /tmp/failed
	else
		check "$name is noticed: $wanted" noticed "$wanted"
	fi
	sed 's/^/# failed/' /tmp/failed
done </bin/fault.wanted
