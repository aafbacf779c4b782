# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A platform that does not say what survives: brickd serves, and says unsafe.
# NEEDS: rdma nvdimm
# BIN: brickd brickctl
# NVDIMM: 160M
# MEM: 2G
# TIMEOUT: 240

dax=$(devdax_setup) || bail "a devdax namespace can be made"
check "soft RoCE starts on dummy0" rxe_setup || exit
brick_setup "$dax" || bail "a store can be made"

check "brickd serves with its defaults" brick_serve
check "clients flush by message" brick_says verbs flush_mode message
check "they are told that it is unsafe" brick_says verbs unsafe true
check "the log says so" brick_log_has 'UNSAFE: region0 does not say'
check "so does doctor" \
	prints "region0: the platform does not say" brickctl doctor
check "it stops" brick_stop

check "brickd serves with persistence = battery" \
	brick_serve 'persistence = battery'
check "the medium is called that" brick_says verbs medium battery
check "nothing of it is unsafe" brick_says verbs unsafe false
check "clients flush by message" brick_says verbs flush_mode message
check "it stops" brick_stop
