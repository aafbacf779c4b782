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
brickd --store "$dax" --config /dev/null --auth none \
	--listen tcp://127.0.0.1:0 --ready-fd 3 3>/tmp/ready 2>/tmp/log &
daemon=$!
check "brickd serves it over tcp, too" wait_for 60 test -s /tmp/ready
check "it flushes the CPU caches" grep -q 'flushed by CLWB' /tmp/log
kill $daemon
check "it stops" wait $daemon
