# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Where the CPU's caches survive (eADR), reading back is true over RDMA, and
# what was read back is there after brickd was killed.
# NEEDS: rdma nvdimm python
# BIN: brickd brickctl passive
# FILES: tests/func/lab.py tests/func/job.py
# NVDIMM: 160M persist=cpu
# MEM: 2G
# TIMEOUT: 400

dax=$(devdax_setup) || bail "a devdax namespace can be made"
check "soft RoCE starts on dummy0" rxe_setup || exit
brick_setup "$dax" || bail "a store can be made"

check "brickd serves with its defaults" brick_serve
check "soft RoCE reads back" brick_says verbs flush_mode readback
check "because of the caches" \
	brick_says verbs flush_why "the brick's CPU caches survive power loss"
check "nothing of it is unsafe" brick_says verbs unsafe false
check "tcp sends a message" brick_says tcp flush_mode message
check "doctor names the domain" \
	prints "region0: the CPU's caches survive" brickctl doctor
check "it stops" brick_stop
KFB_STORE=$dax functest job.py
