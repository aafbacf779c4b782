# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# fio verifies: random writes and reads of all sizes, flushes, trims.
# NEEDS: rdma nvdimm fio
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# NVDIMM: 288M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 1500

SECONDS_EACH=$(((${KFB_FIO_S:-60} + 3) / 4)) # 0 is no limit to fio
SIZE_MIB=240

disk_setup
for queues in 1 2 3 4; do
	thin='' sector=''
	[ $queues = 2 ] && sector='--sector 512'
	[ $queues = 1 ] || thin=--thin
	check "a disk with $queues queues is attached" attach_disk \
		--size ${SIZE_MIB}M --queues $queues $thin $sector || exit
	case $queues in
	1) set -- --bs=4k --iodepth=16 --rw=randrw --fsync=32 ;;
	2) set -- --bsrange=512-1m --iodepth=8 --rw=randrw --fdatasync=16 ;;
	3) set -- --bsrange=4k-128k --iodepth=16 --rw=randrw --sync=1 ;;
	4) set -- --bs=4k --iodepth=16 --rw=randtrimwrite ;;
	esac
	check "fio finds no error with $queues queues: $*" \
		fio_verify "$SECONDS_EACH" $SIZE_MIB q$queues "$@"
	check "it is detached" detach_disk
	ctl free 0x0+${SIZE_MIB}M >/dev/null 2>&1
done
disk_end
