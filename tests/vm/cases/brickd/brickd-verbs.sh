# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# brickd's main job over soft RoCE, on a tmpfs store.
# NEEDS: rdma python
# BIN: brickd brickctl passive
# FILES: tests/func/lab.py tests/func/job.py
# GROUP: brickd
# MEM: 2G
# TIMEOUT: 400

check "soft RoCE starts on dummy0" rxe_setup || exit
functest job.py
