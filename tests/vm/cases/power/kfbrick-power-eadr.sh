# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The loss table where a CPU's caches survive (eADR): reading back is a flush, and
# nothing but a flush is. lib/power.sh has the variables.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickctl powerfail-writer-disk powerfail-verify-disk
# NVDIMM: 288M persist=cpu
# MEM: 2G
# TIMEOUT: 7200

power_setup
row "readback, eADR" none brickd readback
row "no flush, eADR" some brickd readback --no-flush
power_end
