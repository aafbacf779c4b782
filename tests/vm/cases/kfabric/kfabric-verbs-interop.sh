# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# kfabric's verbs provider and an unmodified libfabric program, both roles.
# NEEDS: libfabric
# KO: kfabric_core kfabric_verbs kfi_interop
# BIN: ofi_peer
# MEM: 2G
# TIMEOUT: 600

check "soft RoCE starts on dummy0" rxe_setup || exit
check "the provider loads" modprobe kfabric_verbs || exit
interop_roles verbs "$LOCAL_IP"
check "the provider unloads" rmmod kfabric_verbs
