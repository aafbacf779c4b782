# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The semantic suite of the kernel fabric on verbs over soft RoCE.
# NEEDS: rdma
# KO: kfabric_core kfabric_verbs kfabric_selftest
# GROUP: kfabric
# MEM: 1G
# TIMEOUT: 180

check "the verbs provider brings what it needs" modprobe kfabric_verbs || exit
check "the connection manager came with it" \
	grep -q " rdma_connect\\>" /run/kallsyms
check "soft RoCE starts" rxe_setup || exit
selftest provider=verbs node="$LOCAL_IP" cycles="${VERBS_CYCLES:-100}"
check "there were 150 assertions or more" test "$TAP_COUNT" -ge 150
check "the verbs provider unloads" wait_for 30 rmmod kfabric_verbs
