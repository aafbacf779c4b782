# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A peer of the verbs provider that allows no READs: nothing that needs one is claimed.
# NEEDS: rdma
# KO: kfabric_core kfabric_verbs kfabric_selftest kfi_probe
# MEM: 1G
# TIMEOUT: 120

said() { # said TEXT: a point of the last selftest
	grep -q "^ *ok .* - $1" /tmp/ktap
}

check "soft RoCE starts" rxe_setup || exit
check "the verbs provider loads" modprobe kfabric_verbs || exit
probe_setup
probe return kfiv_cm_reads 0
selftest provider=verbs node="$LOCAL_IP" only=level
check "it was asked how many the peer allows" probed_above kfiv_cm_reads 1
check "delivery is not claimed" \
	said "FI_DELIVERY_COMPLETE is not there, and is refused"
check "other levels are there" said ".* with FI_TRANSMIT_COMPLETE"
probe_end
check "the verbs provider unloads" wait_for 30 rmmod kfabric_verbs
