# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# verbs in a network namespace: endpoints are in that of who opens the fabric, and only
# there. Soft RoCE carries nothing in any but the first, so that they only listen.
# NEEDS: rdma rds
# KO: kfabric_core kfabric_verbs kfabric_rdm kfabric_selftest
# TIMEOUT: 200

# The shell has programs of its own of these names, which can less.
ip() {
	/bin/ip "$@"
}

a_namespace() { # with a device and an address that nobody else has
	mkdir -p /var/run/netns && ip netns add inside &&
		ip link add v0 type veth peer name v1 netns inside &&
		ip -n inside address add 10.88.0.2/24 dev v1 &&
		ip link set v0 up && ip -n inside link set v1 up &&
		ip -n inside link set lo up &&
		ip netns exec inside rdma link add rxe1 type rxe netdev v1 &&
		wait_for 10 rxe_active rxe1
}

inside() { # inside PROVIDER GROUP: the test, whose points are this case's
	check "$1 is tried in a namespace" ip netns exec inside \
		modprobe kfabric_selftest provider="$1" only="$2" node=10.88.0.2
	cat $FABRIC/selftest/results >/tmp/results
	ktap /tmp/results
	check "the test unloads" rmmod kfabric_selftest
	check "no object is left open" wait_for 10 fabric_idle
}

stranger() { # stranger PROVIDER ADDRESS [COMMAND...]: the address is nobody's there
	_provider=$1 _node=$2
	shift 2
	"$@" modprobe kfabric_selftest provider="$_provider" only=info \
		node="$_node"
	grep -q "not ok .* the provider opens" $FABRIC/selftest/results
	_found=$?
	rmmod kfabric_selftest
	return $_found
}

check "soft RoCE starts" rxe_setup || exit
check "there is a namespace" a_namespace || exit
check "the providers load" modprobe -a kfabric_verbs kfabric_rdm || exit
inside verbs info
inside "rdm;verbs" object
check "verbs does not listen outside on the namespace's address" \
	stranger verbs 10.88.0.2
check "nor in the namespace on one from outside" \
	stranger verbs "$LOCAL_IP" ip netns exec inside
selftest provider=verbs node="$LOCAL_IP" only=msg
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the provider unloads" wait_for 30 rmmod kfabric_verbs
check "the namespace's device goes" rdma link delete rxe1
check "so does the namespace" ip netns delete inside
gone() {
	! ip link show v0 2>/dev/null
}
check "its devices go, so that nobody holds it" wait_for 30 gone
