# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Reliable datagrams over verbs on soft RoCE, whose device goes away at last.
# NEEDS: rdma
# KO: kfabric_core kfabric_verbs kfabric_rdm kfabric_selftest
# GROUP: kfabric
# MEM: 1G
# TIMEOUT: 300

check "the verbs provider loads" modprobe kfabric_verbs || exit
check "the layer loads" modprobe kfabric_rdm || exit
check "soft RoCE starts" rxe_setup || exit
selftest provider="rdm;verbs" node="$LOCAL_IP"
check "there were 100 assertions or more" test "$TAP_COUNT" -ge 100
echo 200 >/sys/module/kfabric_rdm/parameters/idle_ms
selftest provider="rdm;verbs" node="$LOCAL_IP" only=idle

may_go() {
	dmesg_since "# removal begins" | grep -q "the device may go"
}

echo "# removal begins" >/dev/kmsg
modprobe kfabric_selftest provider="rdm;verbs" node="$LOCAL_IP" only=removal &
load=$!
check "a message arrives before the removal" wait_for 30 may_go
check "the device goes, although it is in use" timeout 60 rdma link delete rxe0
check "the test ends" wait $load
cat $FABRIC/selftest/results >/tmp/removal.ktap
ktap /tmp/removal.ktap
check "the test unloads" rmmod kfabric_selftest
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the verbs provider unloads" wait_for 30 rmmod kfabric_verbs
