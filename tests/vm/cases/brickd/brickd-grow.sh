# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A store grows on devdax: a copy of a small one lies on a larger device, where
# it was put while the namespace was a block device. The first boot ends under a
# running brickd; the second finds what was there and what was added.
# NEEDS: nvdimm
# BIN: brickd brickctl
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# BOOTS: 2
# TIMEOUT: 150

small=16 # slots of the small store

restore() { # restore FILE: to where a devdax namespace has its first byte
	ndctl create-namespace -f -e namespace0.0 -m fsdax -a 2M &&
		wait_for 10 test -b /dev/pmem0 &&
		dd if="$1" of=/dev/pmem0 bs=2M conv=fsync
}

serve() {
	{
		printf '[brick]\nstore = %s\nlisten = tcp://127.0.0.1\n' "$dax"
		printf '[client a]\nkey-file = /tmp/brick.key\n'
		echo 'grant = 0x0+1T rw'
	} >/tmp/brick.conf
	brick_run --config /tmp/brick.conf
}

reads() { # reads ADDRESS TEXT
	brick_ctl read "$1" --length ${#2} >/tmp/read && [ "$(cat /tmp/read)" = "$2" ]
}

export VIA=tcp
check "the NVDIMM is there" nvdimm_setup || exit
if [ "$BOOT" = 1 ]; then
	check "a small store is made" brickd format /tmp/store --size 34M
	check "a copy of it is put on the device" restore /tmp/store
fi
dax=$(devdax_setup) || bail "a devdax namespace can be made"
brick_key "$dax"
room=$(($(cat "/sys/bus/dax/devices/${dax#/dev/}/size") / 2097152 - 1))
case $BOOT in
1)
	check "brickd serves it" serve
	check "it is as small as it was" brick_says tcp slots_total $small
	check "its blocks are allocated" brick_ctl alloc 0x0+$small
	echo precious >/tmp/write
	check "one is written" brick_ctl write 0x1e00000 </tmp/write
	check_fails "there is no room for more" brick_ctl alloc 1G+1
	check_fails "it does not grow while it is served" brickd grow "$dax"
	check "it stops" brick_stop
	check_fails "a device has a size of its own" \
		brickd grow "$dax" --size 1G
	check "it grows" brickd grow "$dax"
	check_fails "it grows once" brickd grow "$dax"
	check "it is whole" brickd check "$dax"
	check "brickd serves what has grown" serve
	check "it takes all of the device" brick_says tcp slots_total "$room"
	check "the block is as it was" reads 0x1e00000 precious
	check "all that is new can be had" \
		brick_ctl alloc 1G+$((room - small))
	echo new >/tmp/write
	check "the last new block is written" \
		brick_ctl write $((1073741824 + (room - small - 1) * 2097152)) \
		</tmp/write
	;;
2)
	check "brickd serves what the last boot left" serve
	check "it has grown" brick_says tcp slots_total "$room"
	check "the old block is there" reads 0x1e00000 precious
	check "the new block is there" \
		reads $((1073741824 + (room - small - 1) * 2097152)) new
	check "blocks of both kinds can be freed" brick_ctl free 0x0+$small
	check "and the others" brick_ctl free 1G+$((room - small))
	check "it stops" brick_stop
	check "it is whole" brickd check "$dax"
	;;
esac
