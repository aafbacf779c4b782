# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# kfabric's tcp provider and an unmodified libfabric program, both roles.
# NEEDS: libfabric
# KO: kfabric_core kfabric_tcp kfi_interop
# BIN: ofi_peer
# MEM: 2G
# TIMEOUT: 600

check "the loop-back device is up" ip link set lo up
check "the provider loads" modprobe kfabric_tcp || exit
interop_roles tcp 127.0.0.1
check "the provider unloads" rmmod kfabric_tcp
