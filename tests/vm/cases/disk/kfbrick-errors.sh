# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What cannot be attached, why, and that nothing is left of it.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

no_disk() {
	! ls -d /sys/block/kfbrick[0-9]* 2>/dev/null
}

order() { # order LINE: to the driver itself
	echo "$1" >/dev/kfbrick-control
}

only_zeroes_written() {
	dd if=/dev/zero of="$DISK" bs=4096 count=1 oflag=direct conv=notrunc
}

disk_setup
check_fails "an order that is none is refused" order "fly"
check_fails "so is one twice over" order "attach,attach"
check_fails "and an option that is none" order "attach,colour=red"
check_fails "and a range that wraps" order \
	"attach,addr=$BRICK_IP,provider=$PROVIDER,base=0xffffffffffe00000,blocks=2"
check_fails "and a disk that is not there" order "detach,instance=7"

check "mapping on demand without a name is refused, and why is said" \
	says "map_cache needs client" brickctl attach "verbs://$BRICK_IP" \
	--size 4 --map-cache 2

cp $KEY /tmp/key.good
printf '%064d\n' 87654321 >$KEY
check "a wrong key is said to be one" \
	says "authentication failed" ctl attach --size 4
check "nothing is left of it" no_disk
cp /tmp/key.good $KEY
check "a name that the brick does not know looks the same" \
	says "authentication failed" brickctl --client nobody --key-file $KEY \
	attach "$CARRIER://$BRICK_IP" --size 4
check "a range outside the grants is said to be" \
	says "outside this client's grants" ctl attach --base 1T --size 4
check "nothing is left of it" no_disk
check "more than the brick has is said to be, with how much that is" \
	says "the brick has no space left: 512 more blocks are wanted, " ctl attach --size 1G
check "what was allocated for it is free again" \
	says "not allocated" ctl free 0x0+1
check "more than the client's quota is said to be" \
	says "of this client's quota of 2 blocks 0 are in use, and 4 more are wanted" \
	brickctl --client small --key-file $KEY attach \
	"$CARRIER://$BRICK_IP" --size 4
check "nothing is left of it" no_disk
check "nobody listens: that is said" \
	says "refused" brickctl --client a --key-file $KEY --timeout 5 \
	attach "$CARRIER://$BRICK_IP:4711" --size 4
check "a provider that is none is said to be" \
	says "no way" ctl attach --size 4 --provider none
check "nothing is left of it" no_disk

check "a disk is attached" attach_disk --size 4 || exit
first=$DISK
check "the same range again is another disk's" \
	says "has blocks of this range already" ctl attach --size 4
check "and no disk is made of it" test ! -e /sys/block/kfbrick1
exec 8<"$first"
check "a disk that is open is not detached" \
	says "in use" brickctl detach "$first"
exec 8<&-
check "one that is not is" wait_for 10 brickctl detach "$first"
check "nothing is left of it" no_disk

check "a reader may attach it" eval 'DISK=$(brickctl --client reader \
	--key-file $KEY attach "$CARRIER://$BRICK_IP" --size 4 --ro)'
check "it says that it is read-only" test "$(blockdev --getro "$DISK")" = 1
check "it is read" dd if="$DISK" of=/dev/null bs=1M count=8
check_fails "it is not written" only_zeroes_written
check "another reader may, too" brickctl --client reader --key-file $KEY \
	attach "$CARRIER://$BRICK_IP" --size 4 --ro
check "a reader must say so" says "outside this client's grants" brickctl \
	--client reader --key-file $KEY attach "$CARRIER://$BRICK_IP" \
	--base 16M --size 4
check "the driver unloads with disks attached" rmmod kfbrick
check "they are gone" no_disk
check "the key is in no log" \
	eval '! case_log | grep -q 12345678 && ! grep -q 12345678 $BRICK_LOG'
check "no object is left open" wait_for 30 fabric_idle
check "brickd stops" stop_brick
