# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# brickd is killed over soft RoCE under load: 5 times, or --set KFB_KILLS=50.
# NEEDS: rdma nvdimm python
# BIN: brickd brickctl chaos-load
# FILES: tests/func/lab.py tests/func/load.py tests/func/kill9.py
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 240

# Smaller than what the clients want: slots go from client to client.
dax=$(devdax_setup) || bail "a devdax namespace can be made"
check "soft RoCE starts on dummy0" rxe_setup || exit
KFB_STORE=$dax functest kill9.py "${KFB_KILLS:-5}" ${KFB_SEED:+"$KFB_SEED"}
