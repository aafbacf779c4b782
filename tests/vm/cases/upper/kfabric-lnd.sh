# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The LNet-like driver: two nodes of one guest load each other with puts, gets and pings
# over each kind of reliable datagrams, and compare; single transactions end as they must.
# NEEDS: rdma
# KO: kfabric_core kfabric_loop kfabric_tcp kfabric_verbs kfabric_rdm kfabric_lnd kfabric_lnd_test
# GROUP: kfabric
# MEM: 1G
# TIMEOUT: 180

lnd_test() { # lnd_test PARAMETER=VALUE...
	check "the test loads: $*" modprobe kfabric_lnd_test "$@" || return
	ktap $FABRIC/lnd_test/results
	check "the test unloads" rmmod kfabric_lnd_test
	check "no object is left open" wait_for 10 fabric_idle
}

check "the loop-back device is up" ip link set lo up
check "the modules load" modprobe -a kfabric_loop kfabric_tcp kfabric_verbs \
	kfabric_rdm || exit
check "soft RoCE starts" rxe_setup || exit
check "the driver loads" modprobe kfabric_lnd || exit
check_fails "no load is no test" modprobe kfabric_lnd_test prov="rdm;loop"
check_fails "without a provider there is no node" grep -q . $FABRIC/lnd/nets
lnd_test prov="rdm;loop" count="${KLND_COUNT:-300}"
lnd_test prov="rdm;tcp" count="${KLND_COUNT:-300}"
lnd_test prov="rdm;verbs" node="$LOCAL_IP" count="${KLND_COUNT:-150}"
check "the driver unloads" rmmod kfabric_lnd
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the providers unload" wait_for 30 rmmod kfabric_verbs kfabric_tcp \
	kfabric_loop
