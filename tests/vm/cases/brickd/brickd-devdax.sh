# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# brickd's main job over soft RoCE, on devdax on an emulated NVDIMM.
# NEEDS: rdma nvdimm python
# BIN: brickd brickctl passive
# FILES: tests/func/lab.py tests/func/job.py
# GROUP: brickd
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 400

dax=$(devdax_setup) || bail "a devdax namespace can be made"
check "soft RoCE starts on dummy0" rxe_setup || exit
KFB_STORE=$dax functest job.py
check "brickd serves it over tcp, too" brick_run --store "$dax" --config /dev/null \
	--auth none --listen tcp://127.0.0.1:0
check "it flushes the CPU caches" grep -q 'flushed by CLWB' /tmp/brick.log
check "it stops" brick_stop
