# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A striped volume of LVM over the disks of two bricks: one is killed under it and
# comes back, and the volume is found again on disks that are attached anew.
# NEEDS: rdma nvdimm fs lvm
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# NVDIMM: 96M persist=mem-ctrl
# NVDIMM: 96M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 1800

LONG_S=300
SIZE_MIB=32
DATA_MIB=24
LV=/dev/fast/data

attach_all() {
	disks=
	for n in 0 1; do
		brick $n
		attach_it --size ${SIZE_MIB}M --queues 2 --fail never || return
		disks="$disks $DISK"
	done
}

detach_all() {
	for n in 0 1; do
		brick $n
		detach_disk || return
	done
}

put() { # not flushed
	dd if=/tmp/input of=$LV bs=64k oflag=direct conv=notrunc 2>/tmp/dd.err
}

holds() {
	dd if=$LV bs=1M count=$DATA_MIB iflag=direct 2>/dev/null |
		cmp - /tmp/input
}

# shellcheck disable=SC2086 # two words
make_volume() {
	lvm_here vgcreate -qq fast $disks &&
		lvm_here lvcreate -qq -y -W n --stripes 2 --stripesize 64k \
			--extents 100%FREE --name data fast
}

bricks_setup 2 "lease-ms = 3000"
lvm_setup || bail "the device mapper loads"
head -c $((DATA_MIB << 20)) /dev/urandom >/tmp/input
check "a disk of each brick is attached" attach_all || exit
check "they become a striped volume" make_volume || exit
check "it is written" put
brick 1
check "a brick is killed" kill_brick
check "its disk is connecting" wait_for $LONG_S state_is connecting
put &
writer=$!
check "it serves again" serve_it
check "what was written meanwhile ends well" wait $writer
check "a flush is good" xfs_io -c fsync $LV
check "it has what was written" holds
for n in 0 1; do
	brick $n
	check "half of it went to brick $n" test "$(counter writes)" -gt 100
done
check "the volume is put away" lvm_here vgchange -qq -a n fast
check "the disks are detached" detach_all
check "and attached anew" attach_all
check "the volume is found" lvm_here vgchange -qq -a y fast
check "it has what was written" holds
check "it is put away" lvm_here vgchange -qq -a n fast
check "the disks are detached" detach_all
bricks_end 2
