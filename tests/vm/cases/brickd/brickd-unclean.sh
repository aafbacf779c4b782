# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The power epoch over boots: the first ends under a running brickd, the second
# after a clean stop, the third finds that.
# NEEDS: rdma nvdimm
# BIN: brickd brickctl
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# BOOTS: 3
# TIMEOUT: 120

dax=$(devdax_setup) || bail "a devdax namespace can be made"
check "soft RoCE starts on dummy0" rxe_setup || exit
case $BOOT in
1)
	brick_setup "$dax" || bail "a store can be made"
	check "brickd serves" brick_serve
	check "a new store is in its first epoch" \
		brick_says verbs power_epoch 1
	check "a block is allocated" brick_ctl alloc 0x0+1
	;;
2)
	brick_key "$dax"
	check "brickd serves what the last boot left" brick_serve
	check "the block is there" brick_ctl free 0x0+1
	check "what was not flushed may be lost: a new epoch" \
		brick_says verbs power_epoch 2
	check "the log says so" brick_log_has "new power epoch"
	check "it stops" brick_stop
	;;
3)
	brick_key "$dax"
	check "brickd serves after a clean stop" brick_serve
	check "nothing can have been lost: the same epoch" \
		brick_says verbs power_epoch 2
	check_fails "the log says nothing" brick_log_has "new power epoch"
	;;
esac
