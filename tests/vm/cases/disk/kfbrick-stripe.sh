# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Stripes of the device mapper over the disks of two bricks, one of which is
# killed and comes back: fio verifies, and finds no error. KFB_KILLS says how
# often.
# NEEDS: rdma nvdimm fio raid
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# NVDIMM: 96M persist=mem-ctrl
# NVDIMM: 96M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 3600

LONG_S=300
KILLS=${KFB_KILLS:-2}
SIZE_MIB=16
STRIPE_SECTORS=128
STRIPED=/dev/mapper/striped
export DM_DISABLE_UDEV=1

kill_once() { # nothing fails: what goes there waits
	kill_brick
	wait_for $LONG_S state_is connecting && serve_it && wait_for $LONG_S state_is up
}

make_striped() {
	echo "0 $((SIZE_MIB << 12)) striped 2 $STRIPE_SECTORS $half" |
		dmsetup create striped
}

bricks_setup 2 "lease-ms = 3000"
modprobe dm-mod || bail "the device mapper loads"
for n in 0 1; do
	brick $n
	check "a disk of brick $n is attached" attach_it --size ${SIZE_MIB}M \
		--queues 2 --fail never || exit
	half="${half:-} $DISK 0"
done
check "they become one device" make_striped || exit
check "of twice the size" \
	test "$(blockdev --getsize64 $STRIPED)" -eq $((SIZE_MIB << 21))
begin_load $STRIPED $SIZE_MIB
i=0
while [ $i -lt "$KILLS" ]; do
	i=$((i + 1))
	brick $((i % 2))
	check "kill $i: brick $BRICK_N is written" is_busy &&
		check "kill $i: it is back" kill_once || break
done
check "fio has found no error" end_load
diag "fio was run $(cat /tmp/rounds) times"
for n in 0 1; do
	brick $n
	check "half of it went to brick $n" test "$(counter writes)" -gt 100
done
check "the device is removed" dmsetup remove striped
for n in 0 1; do
	brick $n
	check "the disk of brick $n is detached" detach_disk
done
bricks_end 2
