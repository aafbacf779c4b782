# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A write over verbs waits for its doorbell, which comes when the endpoint has stopped, but
# has not yet ended what is left: the device must not have it.
# NEEDS: rdma
# KO: kfabric_core kfabric_verbs kfabric_selftest kfi_probe
# MEM: 1G
# TIMEOUT: 180

may() { # may WHAT: has the test said so?
	dmesg_since "# holding begins" | grep -q "now the stop may $1"
}

check "the verbs provider loads" modprobe kfabric_verbs || exit
check "soft RoCE starts" rxe_setup || exit
probe_setup
echo "# holding begins" >/dev/kmsg
probe hold kfiv_flush_left
# Should the device have the write, its end is told when the stop has gone on.
probe delay kfiv_tx_done 3000 times=1
modprobe kfabric_selftest provider=verbs node="$LOCAL_IP" only=doorbell &
load=$!
check "a write is posted" wait_for 60 may "be held"
check "the endpoint has stopped" wait_for 30 probed_above kfiv_flush_left 0
echo 1 >/sys/module/kfabric_selftest/parameters/go
check "the doorbell has come" wait_for 60 may "go on"
sleep 1
probe release
check "the test ends" wait $load
check "the device has told of nothing" test "$(probed kfiv_tx_done)" = 0
selftest_end
probe_end
check "the verbs provider unloads" wait_for 30 rmmod kfabric_verbs
