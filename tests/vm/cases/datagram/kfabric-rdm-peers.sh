# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Many peers of one unconnected endpoint, over TCP and over loop: each message comes
# once, and closing gives all memory back. KFB_PEERS=1000 are a thousand.
# KO: kfabric_core kfabric_loop kfabric_tcp kfabric_rdm kfabric_selftest
# KARGS: slub_debug=F
# MEM: 2G
# TIMEOUT: 200
# MEASURES: yes

PEERS=${KFB_PEERS:-100}

# many PROVIDER: once before, so that what grows once has grown
many() {
	selftest provider="$1" only=peers "peers=$PEERS"
	modules_held >/tmp/held.before
	slab_objects >/tmp/slab.before
	_before=$(kernel_kib)
	selftest provider="$1" only=peers "peers=$PEERS"
	left_nothing $((PEERS * 2 / 5))
}

check "the loop-back device is up" ip link set lo up
check "the providers load" modprobe -a kfabric_loop kfabric_tcp kfabric_rdm ||
	exit
many "rdm;loop"
many "rdm;tcp"
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the providers unload" wait_for 30 rmmod kfabric_loop kfabric_tcp
