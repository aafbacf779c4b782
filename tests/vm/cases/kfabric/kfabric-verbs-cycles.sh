# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A thousand connections over soft RoCE under load leave nothing behind.
# NEEDS: rdma
# KO: kfabric_core kfabric_verbs kfabric_selftest
# MEM: 1G
# KARGS: slub_debug=F
# TIMEOUT: 300

check "soft RoCE starts" rxe_setup || exit
check "the verbs provider loads" modprobe kfabric_verbs || exit
cycles "${VERBS_CYCLES:-1000}" provider=verbs node="$LOCAL_IP"
check "the verbs provider unloads" rmmod kfabric_verbs
