# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The semantic suite of the kernel fabric on verbs over software iWARP.
# Debian builds its kernels without siw; the debug kernel has it.
# NEEDS: rdma
# KO: kfabric_core kfabric_loop kfabric_verbs kfabric_selftest
# KERNEL: debug
# MEM: 1G
# TIMEOUT: 180

siw_setup() {
	modprobe ib_uverbs && modprobe rdma_ucm && modprobe siw || return
	modprobe dummy numdummies=1 || return
	ip link set dummy0 mtu 4200 up || return
	ip addr replace "$LOCAL_IP/24" dev dummy0 || return
	rdma link add siw0 type siw netdev dummy0 || return
	wait_for 10 rxe_active siw0
}

refused() { # without the parameter the suite finds no provider
	modprobe kfabric_selftest provider=verbs node="$LOCAL_IP" only=info ||
		return
	grep 'the provider opens' $FABRIC/selftest/results
	rmmod kfabric_selftest
}

check "software iWARP starts" siw_setup || exit
check "the verbs provider loads" modprobe kfabric_verbs || exit
refused >/tmp/refused
check "it does not use software iWARP unless told to" \
	grep -q 'not ok' /tmp/refused
check "the verbs provider unloads" rmmod kfabric_verbs
check "it loads and uses software iWARP" modprobe kfabric_verbs siw=1 || exit
selftest provider=verbs node="$LOCAL_IP" cycles="${VERBS_CYCLES:-100}"
check "there were 250 assertions or more" test "$TAP_COUNT" -ge 250
check "the verbs provider unloads" wait_for 30 rmmod kfabric_verbs
