# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Power is cut while disks are written and flushed: the loss table, where a CPU's
# caches go with the power or nothing is in them. lib/power.sh has the variables.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickd-caches brickd-lying brickctl
# BIN: powerfail-writer-disk powerfail-verify-disk
# GROUP: kfbrick
# NVDIMM: 288M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 7200

# Soft RoCE is no device with DDIO to be switched off.
power_setup 'persistence = assume-readback'
row "readback, DDIO off" none brickd readback
row "no flush, DDIO off" some brickd readback --no-flush
row "FLUSH, DDIO off" none brickd message
row "FLUSH, DDIO on" none brickd-caches message
row "readback, DDIO on" some brickd-caches readback
row "FLUSH, copies, DDIO on" none brickd-caches message '' 16
row "FLUSH to a brick that lies, DDIO on" some brickd-lying message
power_end
