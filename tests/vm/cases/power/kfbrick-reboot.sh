# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The brick's machine is killed and boots again, the disk's lives on. What was
# written and not flushed counts as gone: a disk with copies writes them again,
# and fio finds no error; one without tells the next flush. KFB_REBOOTS says how
# often the former is shown.
# NEEDS: rdma nvdimm fio fs
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# GUESTS: 2
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 7200

REBOOTS=${KFB_REBOOTS:-1}
SIZE_MIB=16

survives() {
	reboot_brick && wait_for $LONG_S state_is up
}

with_copies() {
	check "a disk with copies is attached" attach_disk \
		--size ${SIZE_MIB}M --queues 2 --fail never --retain-mb 64 ||
		return
	begin_load "$DISK" $SIZE_MIB
	while [ $boot -le "$REBOOTS" ]; do
		check "fio writes before the end of boot $boot" is_busy || break
		epoch=$(cat "$CTL/power_epoch")
		check "the end of boot $boot is survived" survives ||
			diag "$(cat "$CTL/state" "$CTL/last_error")"
		check "the power epoch is another" \
			test "$(cat "$CTL/power_epoch")" -gt "$epoch"
	done
	check "fio writes after the last" is_busy
	check "fio has found no error" end_load
	diag "fio was run $(cat /tmp/rounds) times; $(cat "$CTL/retain")"
	check "copies were written again" test "$(retained replays)" -gt 0
	check "it is detached" detach_disk
}

without_copies() {
	check "a disk without copies is attached" attach_disk \
		--size ${SIZE_MIB}M --queues 2 --fail never --retain-mb 0 ||
		return
	check "it is written and not flushed" dd if=/dev/urandom of="$DISK" \
		bs=64k count=16 oflag=direct
	check "the brick's machine is killed and boots" reboot_brick
	check "the disk says that it has lost writes" \
		wait_for $LONG_S state_is lossy
	diag "$(cat "$CTL/last_error")"
	check_fails "the next flush fails" xfs_io -c fsync "$DISK"
	check_fails "detaching says so" detach_disk
}

with_disks() {
	boot=1
	with_copies
	without_copies
}

reboots
