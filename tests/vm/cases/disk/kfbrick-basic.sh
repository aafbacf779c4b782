# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A disk on a brick in the same guest: attach, write, flush, read, detach.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

BRICK_IP=$LOCAL_IP
BLOCKS=32

is_up() {
	[ "$(cat "$CTL/state")" = up ]
}

dax=$(devdax_setup) || bail "a devdax namespace can be made"
check "soft RoCE starts on dummy0" rxe_setup || exit
make_key
configure_brick "$dax" "$BRICK_IP"
check "devdax is formatted" brickd format "$dax" --force || exit
check "brickd serves it" serve_brick || exit
check "the module is not there: brickctl says so" \
	says "modprobe kfbrick" brickctl detach kfbrick0
check_fails "nor is any that it needs" grep -q ^kfabric /proc/modules
check "a disk is attached: that loads them" \
	attach_disk --base 0x0 --size $BLOCKS || exit
check "it is up" is_up
check "its size is that of the blocks" \
	test "$(blockdev --getsize64 "$DISK")" -eq $((BLOCKS << 21))
check "a block cannot be freed under it" \
	says "mapped" ctl free 0x0+1
head -c $((BLOCKS << 20)) /dev/urandom >/tmp/input
check "half of it is written and flushed" \
	dd if=/tmp/input of="$DISK" bs=1M oflag=direct conv=fsync
check "the flush was by message" test "$(cat "$CTL/flush_mode")" = message
check "and there was one" test "$(counter messages)" -ge 1
echo 3 >/proc/sys/vm/drop_caches
check "it is read" dd if="$DISK" of=/tmp/output bs=1M count=$BLOCKS \
	iflag=direct
check "what was written is what is read" cmp /tmp/input /tmp/output
brickctl attached >/tmp/attached
check "it is listed" grep -q "kfbrick0 *- *up" /tmp/attached
brickctl attached --json | tr -d ' ' >/tmp/attached
check "what each queue has done is there" \
	grep -q '"counters":\[{"queue":0,"writes":[0-9]' /tmp/attached
check "as many bytes as were written" test "$(tr ',{}' '\n' </tmp/attached |
	awk -F: '/"written_bytes"/ { n += $2 } END { print n }')" \
	-eq $((BLOCKS << 20))
check "and the rest of its numbers" \
	grep -q '"map_cache":{"blocks":0,' /tmp/attached
check "it is detached" detach_disk
check_fails "it is gone" test -e "$DISK"
check "the brick has what was written" \
	ctl read 0x0 --length $((BLOCKS << 20)) -o /tmp/brick-output
check "byte for byte" cmp /tmp/input /tmp/brick-output
check "the driver unloads" rmmod kfbrick
check "no object is left open" wait_for 10 fabric_idle
check "brickd stops" stop_brick
