# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# brickd on disks that fail under load, again and again, below a real page cache:
# device-mapper errors and loop devices that run full. 3 times, or --set
# KFB_TRIALS=100.
# NEEDS: python fs dm
# BIN: brickd brickctl chaos-load
# FILES: tests/func/lab.py tests/func/load.py tests/func/failing_disk.py tests/func/device_disk.py tests/func/lost_syncs.py
# MEM: 2G
# TIMEOUT: 3600

modprobe loop max_loop=8
modprobe dm-flakey
modprobe ext4
export LISTEN=tcp://127.0.0.1 DISKS=devices LOSSES="${KFB_LOSSES:-}"
functest lost_syncs.py "${KFB_TRIALS:-3}" ${KFB_SEED:+"$KFB_SEED"}
