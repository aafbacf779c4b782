# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# verbs in a network namespace: endpoints are in that of who opens the fabric, and only
# there. Soft RoCE carries nothing in any but the first, so that they only listen.
# NEEDS: rdma rds
# KO: kfabric_core kfabric_verbs kfabric_rdm kfabric_selftest
# TIMEOUT: 200

a_namespace() { # with a device for its address
	inside_setup &&
		in_netns inside rdma link add rxe1 type rxe netdev v1 &&
		wait_for 10 rxe_active rxe1
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
	stranger verbs $INSIDE_IP
check "nor in the namespace on one from outside" \
	stranger verbs "$LOCAL_IP" in_netns inside
selftest provider=verbs node="$LOCAL_IP" only=msg
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the provider unloads" wait_for 30 rmmod kfabric_verbs
check "the namespace's device goes" rdma link delete rxe1
inside_end
