# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Shared receive contexts where something is missing: memory, a device that has them, or
# the endpoint that a receive was put aside for.
# NEEDS: rdma
# KO: kfabric_core kfabric_tcp kfabric_verbs kfabric_selftest kfi_probe
# MEM: 1G
# TIMEOUT: 180

said() { # said TEXT: a point of the last selftest
	grep -q "^ *ok .* - $1" /tmp/ktap
}

verbs() { # verbs GROUP
	selftest provider=verbs node="$LOCAL_IP" only="$1"
}

check "the loop-back device is up" ip link set lo up
check "the tcp provider loads" modprobe kfabric_tcp || exit
check "the verbs provider loads" modprobe kfabric_verbs || exit
probe_setup

# Each round of the test opens one context and two endpoints.
alloc_fails small kfi_srx_open 2
selftest provider=tcp only=srx_alloc
alloc_failed small kfi_srx_open 2

# Who waits for a receive is slow to take it, and closes meanwhile.
probe sleep ktcp_receive_work 1000
selftest provider=tcp only=srx_left
check "it was slow" probed_above ktcp_receive_work 0
probe clear

# What a device has is asked when it comes.
probe return kfiv_max_srq 0
check "soft RoCE starts" rxe_setup || exit
verbs srx
check "its limits were asked for" probed_above kfiv_max_srq 0
check "a device without shared receives offers none" \
	said "endpoints that share receives are not offered"
probe clear
check "soft RoCE goes" rdma link delete rxe0
check "soft RoCE starts again" rxe_setup || exit

alloc_fails small kfiv_srx_context 2
verbs srx_alloc
alloc_failed small kfiv_srx_context 2
probe return kfiv_srx_create -12 every=2
verbs srx_alloc
check "some were not made by the device" probed_above kfiv_srx_create 0
probe clear

# The device goes while a queue pair is being made for an endpoint that closes.
probe hold kfiv_qp_make
modprobe kfabric_selftest provider=verbs node="$LOCAL_IP" only=srx_made &
load=$!
check "a queue pair is being made" wait_for 20 probed_above kfiv_qp_make 0
sleep 2
probe count ib_destroy_srq_user
rdma link delete rxe0 &
removal=$!
sleep 2
check "its context stays as long" test "$(probed ib_destroy_srq_user)" = 0
probe release
check "the device goes" wait $removal
check "the test ends" wait $load
check "the context has gone with the device" probed_above ib_destroy_srq_user 0
selftest_end
probe clear
probe_end
check "the verbs provider unloads" wait_for 30 rmmod kfabric_verbs
check "the tcp provider unloads" wait_for 30 rmmod kfabric_tcp
