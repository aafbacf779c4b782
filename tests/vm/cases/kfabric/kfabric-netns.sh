# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Network namespaces: providers are in that of who opens the fabric, and only there.
# NEEDS: rds
# KO: kfabric_core kfabric_tcp kfabric_rdm kfabric_rds kfabric_selftest
# GROUP: kfabric
# TIMEOUT: 200

# The shell has programs of its own of these names, which can less.
ip() {
	/bin/ip "$@"
}

a_namespace() { # whose address nobody else has
	mkdir -p /var/run/netns && ip netns add inside &&
		ip link add v0 type veth peer name v1 netns inside &&
		ip -n inside address add 10.88.0.2/24 dev v1 &&
		ip link set v0 up && ip -n inside link set v1 up &&
		ip -n inside link set lo up
}

inside() { # inside PROVIDER GROUP: the test, whose points are this case's
	check "$1 is tried in a namespace" ip netns exec inside \
		modprobe kfabric_selftest provider="$1" only="$2" node=10.88.0.2
	cat $FABRIC/selftest/results >/tmp/results
	ktap /tmp/results
	check "the test unloads" rmmod kfabric_selftest
	check "no object is left open" wait_for 10 fabric_idle
}

outside() { # outside PROVIDER GROUP: the same address is nobody's here
	modprobe kfabric_selftest provider="$1" only="$2" node=10.88.0.2
	grep -q "not ok .* an endpoint opens\|not ok .* the provider opens" \
		$FABRIC/selftest/results
	_found=$?
	rmmod kfabric_selftest
	return $_found
}

check "there is a namespace" a_namespace || exit
check "the providers load" /sbin/modprobe -a kfabric_tcp kfabric_rds \
	kfabric_rdm || exit
inside tcp msg
inside "rdm;tcp" msg
inside rds msg
check "tcp finds nobody outside of it" outside tcp msg
check "rdm finds nobody outside of it" outside "rdm;tcp" msg
check "rds finds nobody outside of it" outside rds msg
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the providers unload" wait_for 30 rmmod kfabric_tcp kfabric_rds
check "the namespace goes" ip netns delete inside
gone() {
	! ip link show v0 2>/dev/null
}
check "its devices go, so that nobody holds it" wait_for 30 gone
