# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Reliable datagrams whose engine is slow between two messages, so that whatever else
# happens comes between them.
# KO: kfabric_core kfabric_loop kfabric_rdm kfabric_selftest kfi_probe
# TIMEOUT: 120

check "the loop-back device is up" ip link set lo up
check "the provider loads" modprobe kfabric_loop || exit
check "the layer loads" modprobe kfabric_rdm || exit
probe_setup
# Completions are read while messages wait for one.
probe delay kfir_rx_get 1
selftest provider="rdm;loop" only=multi
check "the engine was slow" probed_above kfir_rx_get 300
probe_end
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the provider unloads" wait_for 30 rmmod kfabric_loop
