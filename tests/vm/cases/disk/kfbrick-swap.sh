# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Memory that is only to be had by writing to the disk: swap and a full page
# cache on disks of a small guest, also while their brick is killed. Nothing
# hangs, and everything is what it was.
# NEEDS: rdma nvdimm fio
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# GUESTS: 2
# NVDIMM: 288M persist=mem-ctrl
# MEM: 512M
# TIMEOUT: 3600

LONG_S=600
BRICK_IP=$SERVER_IP
SWAP_MIB=192
CACHE_MIB=64
# More than there is memory for: so much is on the disk at least.
MORE_MIB=32
RESERVE_KIB=32768

server() {
	dax=$(devdax_setup) || bail "a devdax namespace can be made"
	configure_brick "$dax" "$BRICK_IP" "lease-ms = 10000"
	check "devdax is formatted" brickd format "$dax" --force
	check "brickd serves it" serve_brick || diag "$(cat $BRICK_LOG)"
	announce serving
	check "the client swaps" wait_peer swapping 3000 || return
	kill_brick
	check "brickd serves again" serve_brick
	announce again
	check "the client is done" wait_peer "done" 3000
	check "brickd stops" stop_brick
}

free_mib() {
	awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo
}

swapped_mib() { # in use on the disk
	awk 'NR == 2 { print int($4 / 1024) }' /proc/swaps
}

swapped_above() { # swapped_above MIB
	[ "$(swapped_mib)" -gt "$1" ]
}

fio_cached() { # fio_cached NAME FILE MIB RW: through the page cache, verified
	fio --name="$1" --filename="$2" --size="$3M" --rw="$4" --bs=64k \
		--ioengine=psync --end_fsync=1 --verify=crc32c \
		--verify_fatal=1 --do_verify=1 --randseed=7 \
		>"/tmp/fio.$1" 2>&1
}

# Anonymous memory by another name: it goes to swap and nowhere else.
use_memory() {
	mkdir -p /memory
	mount -t tmpfs -o size=100% memory /memory
	fio_cached memory /memory/file "$1" write
}

use_cache() { # until the file stop is there
	while [ ! -e /tmp/stop ]; do
		fio_cached cache "$CACHE_DISK" $CACHE_MIB write || return
	done
}

# Soft RoCE takes memory for each packet, which a network card does not. One that
# finds none ends its connection; if it is of the connection management, that is
# dead until the device is removed.
reserve_memory() {
	echo $RESERVE_KIB >/proc/sys/vm/min_free_kbytes
}

attach_both() {
	attach_disk --size ${CACHE_MIB}M --queues 2 --fail never || return
	CACHE_DISK=$DISK
	attach_disk --base 0x10000000 --size ${SWAP_MIB}M --queues 2 --fail never
}

client() {
	check "brickd serves" wait_peer serving $LONG_S || return
	check "the driver loads" modprobe kfbrick || return
	check "two disks are attached" attach_both || return
	check "memory for packets is kept free" reserve_memory
	check "one becomes swap" mkswap "$DISK"
	check "it is used" swapon "$DISK" || return
	use_cache &
	_cache=$!
	_mib=$(($(free_mib) + MORE_MIB))
	diag "$(free_mib) MiB are to be had, $_mib are used"
	use_memory $_mib &
	_memory=$!
	check "memory goes to the disk" wait_for $LONG_S swapped_above $((MORE_MIB / 2))
	announce swapping
	check "brickd serves again" wait_peer again $LONG_S
	_swapped=$(swapped_mib)
	check "what was in memory is what it was" wait $_memory ||
		diag "$(tail -20 /tmp/fio.memory)"
	diag "$_swapped MiB were on the disk then, $(swapped_mib) at the end"
	touch /tmp/stop
	check "what went through the page cache, too" wait $_cache ||
		diag "$(tail -20 /tmp/fio.cache)"
	check "the disk is up" state_is up
	umount /memory
	check "it is swap no more" swapoff "$DISK"
	check "one disk is detached" detach_disk
	check "so is the other" detach_disk "$CACHE_DISK"
	check "the driver unloads" rmmod kfbrick
	check "no object is left open" wait_for 30 fabric_idle
}

check "the wire is up" net_setup || exit
check "the carrier is there" carrier_setup eth0 || exit
make_key
check "the guests meet" meet up $LONG_S || exit
$ROLE
announce "done"
check "the guests part" meet bye $LONG_S
