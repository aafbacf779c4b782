# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Network namespaces: providers are in that of who opens the fabric, and only there.
# NEEDS: rds
# KO: kfabric_core kfabric_tcp kfabric_rdm kfabric_rds kfabric_udp kfabric_selftest
# GROUP: kfabric
# TIMEOUT: 200

outside() { # outside PROVIDER GROUP: the same address is nobody's here
	modprobe kfabric_selftest provider="$1" only="$2" node=$INSIDE_IP
	grep -q "not ok .* an endpoint opens\|not ok .* the provider opens" \
		$FABRIC/selftest/results
	_found=$?
	rmmod kfabric_selftest
	return $_found
}

check "there is a namespace" inside_setup || exit
check "the providers load" /sbin/modprobe -a kfabric_tcp kfabric_rds \
	kfabric_udp kfabric_rdm || exit
inside tcp msg
inside "rdm;tcp" msg
inside rds msg
inside udp msg
check "tcp finds nobody outside of it" outside tcp msg
check "rdm finds nobody outside of it" outside "rdm;tcp" msg
check "rds finds nobody outside of it" outside rds msg
check "udp finds nobody outside of it" outside udp msg
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the providers unload" wait_for 30 \
	rmmod kfabric_tcp kfabric_rds kfabric_udp
inside_end
