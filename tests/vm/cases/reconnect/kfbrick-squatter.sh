# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Whoever has a brick's port instead of it gets no byte of a disk, ends it in no
# way, and the disk is back when the brick is. 45 times, or --set KFB_RESUMES=1000.
# NEEDS: nvdimm python
# KO: kfabric_core kfabric_tcp kfbrick
# BIN: brickd brickctl
# FILES: tests/func/lab.py tests/func/comeback.py tests/func/load.py tests/func/tcp_peers.py tests/func/squatter.py tests/func/squat_disk.py
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 3600

use_carrier tcp
disk_setup "lease-ms = 600000"
export LISTEN=tcp://127.0.0.1 KEY
functest squat_disk.py "${KFB_RESUMES:-45}" ${KFB_SEED:+"$KFB_SEED"}
disk_end
