# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The loss table over TCP, where each write is durable when it completes.
# lib/power.sh has the variables.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_tcp kfabric_fault kfbrick
# BIN: brickd brickd-caches brickd-lying-commit brickctl
# BIN: powerfail-writer-disk powerfail-verify-disk
# GROUP: kfbrick
# NVDIMM: 288M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 7200

use_carrier tcp

power_setup
row "commit, caches lost" none brickd-caches commit
row "commit to a brick that lies, caches lost" some brickd-lying-commit commit
power_end
