# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The brick's machine is killed at some moment while a disk is written and
# flushed, and boots again: what was flushed is there. KFB_CUTS says how often.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl powerfail-writer-disk powerfail-verify-disk
# GUESTS: 2
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 7200

CUTS=${KFB_CUTS:-2}
SEED=${KFB_SEED:-1}
SIZE=16M

is_back() { # it has learnt what became of its writes
	state_is lossy || state_is up
}

survives() { # the end of boot $boot, in the midst of writing
	rm -f /tmp/notes
	attach_disk --size $SIZE --queues 4 --fail never --retain-mb 0 || return
	_epoch=$(cat "$CTL/power_epoch")
	powerfail-writer-disk --jobs 3 --fua --seed $((SEED * 1000 + boot)) \
		/tmp/notes "$DISK" >/tmp/writer.out 2>&1 &
	_writer=$!
	wait_for $LONG_S has_flushed $((5 + (SEED * 7919 + boot * 31) % 90)) ||
		return
	reboot_brick && wait_for $LONG_S is_back || return
	[ "$(cat "$CTL/power_epoch")" -gt "$_epoch" ] || return
	kill -KILL $_writer 2>/dev/null
	wait $_writer 2>/dev/null
	powerfail-verify-disk /tmp/notes "$DISK" >/tmp/verdict
	_verdict=$?
	cat /tmp/verdict
	detach_disk >/tmp/detach.out 2>&1
	return $_verdict
}

with_disks() {
	boot=1
	while [ $boot -le "$CUTS" ]; do
		: >/tmp/verdict
		check "what was flushed survives the end of boot $boot" \
			survives || break
		diag "seed $SEED: $(cat /tmp/verdict)"
	done
}

reboots
