# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# An upper layer of somebody else looks at the verbs objects behind those of kfabric,
# and keeps a device that is to go.
# NEEDS: rdma
# KO: kfabric_core kfabric_loop kfabric_verbs verbs_look
# MEM: 1G
# TIMEOUT: 120

HOLD=/sys/module/verbs_look/parameters/hold

said() { # said TEXT: by the module
	case_log | grep -q "verbs_look: $1"
}

check "soft RoCE starts" rxe_setup || exit
check "providers load" modprobe -a kfabric_verbs kfabric_loop || exit
check "the objects belong together, and are lent" \
	modprobe verbs_look node="$LOCAL_IP" hold=1
check "a thread has the device" wait_for 20 said "holds the device: 0"
rdma link delete rxe0 &
_remover=$!
sleep 1
check_fails "the device does not go while somebody has it" is_over $_remover
check_fails "it was not given back" said "gives rxe0 back"
echo 0 >$HOLD
check "it is given back" wait_for 20 said "gives rxe0 back"
check "then it goes" wait_for 30 is_over $_remover
check "the upper layer unloads" rmmod verbs_look
check "another provider has none of this" modprobe verbs_look provider=loop
check "it unloads" rmmod verbs_look
check "no object is left open" wait_for 10 fabric_idle
check "the verbs provider unloads" wait_for 30 rmmod kfabric_verbs
