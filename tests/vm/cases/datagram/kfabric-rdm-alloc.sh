# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Reliable datagrams while allocations fail, those of one function at a time:
# everything works or says that there is no memory, and nothing is left behind.
# KO: kfabric_core kfabric_tcp kfabric_rdm kfabric_selftest kfi_probe
# TIMEOUT: 300

check "the loop-back device is up" ip link set lo up
check "the provider loads" modprobe kfabric_tcp || exit
check "the layer loads" modprobe kfabric_rdm || exit
probe_setup

fails() { # fails ALLOCATOR CALLER EVERY: see alloc_fails, with the test over it
	alloc_fails "$@"
	selftest provider="rdm;tcp" only=alloc
	alloc_failed "$@"
}

# The test opens two domains by itself, and in each round two endpoints, of which 2 hits
# the second, and then a scalable one, which has three contexts in each direction. A
# connection has one small piece of memory and two large ones at each end, so that of
# these 3 hits who connects, 4 who accepts, and 5 both.
fails small kfir_domain 3
fails small kfir_open 2
fails small kfir_open 3
fails small kfir_ctx_open 2
fails small kfir_ctx_open 5
fails small kfi_plain_cq_open 2
fails small kfi_plain_cq_open 5
fails small kfi_plain_av_open 2
fails small kfi_plain_av_open 3
fails any kfi_table_mr_reg 2
fails small kfir_peer_get 3
fails small kfir_conn_alloc 3
fails small kfir_conn_alloc 4
fails large kfir_conn_alloc 5
fails large kfi_post_alloc_slots 2
fails large kfi_post_alloc_slots 4
fails large kfi_post_alloc_parts 2
fails large kfi_post_alloc_parts 4
fails large kfir_keep 2
probe_end
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the provider unloads" wait_for 30 rmmod kfabric_tcp
