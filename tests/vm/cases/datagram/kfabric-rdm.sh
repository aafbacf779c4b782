# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Reliable datagrams over the loop provider, over TCP, and over the fault layer
# with delays and refused connections.
# KO: kfabric_core kfabric_loop kfabric_tcp kfabric_fault kfabric_rdm kfabric_selftest
# GROUP: kfabric
# TIMEOUT: 300

check "the loop-back device is up" ip link set lo up
check "the providers load" modprobe -a kfabric_loop kfabric_tcp || exit
check "the layer loads" modprobe kfabric_rdm || exit
selftest provider="rdm;loop,rdm;tcp"
check "there were 200 assertions or more" test "$TAP_COUNT" -ge 200

echo 200 >/sys/module/kfabric_rdm/parameters/idle_ms
selftest provider="rdm;loop,rdm;tcp" only=idle
echo 60000 >/sys/module/kfabric_rdm/parameters/idle_ms

check "the fault layer loads" modprobe kfabric_fault
fault() { # fault KNOB VALUE
	echo "$2" >"$FABRIC/fault/$1"
}
fault delay_ms 20
fault delay_permille 200
fault reject_nth 2
fault reject_passive_nth 3
selftest provider="rdm;fault;loop" only=peer
check "connections were refused" grep -q "^rejects 2\$" "$FABRIC/fault/counters"
check "completions came late" grep -q "^delayed [1-9]" "$FABRIC/fault/counters"

check "the fault layer unloads" wait_for 30 rmmod kfabric_fault
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the providers unload" wait_for 30 rmmod kfabric_loop kfabric_tcp
