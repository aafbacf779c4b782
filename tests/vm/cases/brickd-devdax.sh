# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# brickd's main job over soft RoCE, on devdax on an emulated NVDIMM.
# NEEDS: rdma nvdimm python
# BIN: brickd brickctl passive
# FILES: tests/func/lab.py tests/func/job.py
# GROUP: brickd
# NVDIMM: 512M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 400

dax=$(devdax_setup) || bail "a devdax namespace can be made"
check "soft RoCE starts on dummy0" rxe_setup || exit
KFB_STORE=$dax functest job.py
