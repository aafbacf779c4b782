# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# kfabric's verbs and tcp providers, loaded together, with programs in user space
# in both roles: libfabric's verbs, libfabric's tcp and this project's stcp. A
# selection: kfabric-verbs-interop and kfabric-tcp-interop have all of it.
# NEEDS: libfabric
# KO: kfabric_core kfabric_verbs kfabric_tcp kfi_interop
# BIN: ofi_peer
# MEM: 2G
# TIMEOUT: 300

RMA=rma,flush,peer_rma,peer_wrong_key,quit
LEVELS=levels,peer_levels

both_loaded() {
	for _module in kfabric_verbs kfabric_tcp; do
		grep -q "^$_module " /proc/modules || return
	done
}

check "soft RoCE starts on dummy0" rxe_setup || exit
check "the loop-back device is up" ip link set lo up
check "both providers load" modprobe -a kfabric_verbs kfabric_tcp || exit

export STEP=32
export ONLY=messages,inject,$RMA
interop_roles verbs "$LOCAL_IP"
export PEER_PROVIDER=tcp ONLY=$RMA,$LEVELS
interop_roles tcp 127.0.0.1
export PEER_PROVIDER=stcp STRICT=1 ONLY=messages,inject,$RMA,$LEVELS
interop_roles tcp 127.0.0.1

check "both were there all the time" both_loaded
check "the providers unload" rmmod kfabric_tcp kfabric_verbs
