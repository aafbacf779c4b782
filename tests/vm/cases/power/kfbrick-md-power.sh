# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# RAID1 over the disks of two bricks, of which one loses its power, and with it
# what md has written and not flushed: nothing is lost. The half comes back as
# docs/several-bricks.md has it, by a copy of all. KFB_CUTS says how often.
# NEEDS: rdma nvdimm raid fs
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickctl powerfail-writer-disk powerfail-verify-disk
# NVDIMM: 64M persist=mem-ctrl
# NVDIMM: 64M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 3600

LONG_S=300
CUTS=${KFB_CUTS:-2}
SEED=${KFB_SEED:-1}
MORE_CUTS=5 # at most, until bytes were lost
SIZE_MIB=12

# Only what brick 0's card holds is lost: its disk alone is above the model.
attach_half() {
	_model=
	[ "$BRICK_N" -ne 0 ] || _model="--provider fault;verbs"
	# shellcheck disable=SC2086 # words, or none
	attach_it --size ${SIZE_MIB}M --queues 2 --fail io-error \
		--reconnect-s 60 --retain-mb 0 $_model
}

# md learns it from the first request that fails: the disk has lost writes.
lose_power() {
	brick 0
	rm -f /tmp/notes
	echo 1 >"$FAULT/power"
	powerfail-writer-disk --jobs 2 --batch 16 --fua --size 6M \
		--seed $((SEED * 1000 + _i)) /tmp/notes /dev/md0 \
		>/tmp/writer.out 2>&1 &
	writer=$!
	wait_for $LONG_S has_flushed $((4 + (SEED * 7919 + _i * 31) % 9)) || return
	cut_power && another_boot && serve_brick || return
	echo "$BRICKD" >/tmp/brick0.pid
	wait_for $LONG_S missing 1
}

goes_on() { # on the half that is left
	has_flushed 0 && wait_for $LONG_S \
		has_flushed $(($(wc -l </tmp/notes) + 5)) && kill -0 $writer
}

end_writer() {
	kill -KILL $writer
	wait $writer 2>/dev/null
	powerfail-verify-disk /tmp/notes /dev/md0
}

# As one that may hold anything. What md copies is not flushed, and a model that is
# full passes it on in lines of 64 bytes: it rests meanwhile.
return_half() {
	brick 0
	mdadm /dev/md0 --remove "$DISK" || return
	detach_disk
	[ ! -e "$DISK" ] && attach_half && echo 0 >"$FAULT/power" &&
		mdadm --zero-superblock "$DISK" &&
		mdadm /dev/md0 --add "$DISK" && wait_for $LONG_S is_whole
}

compare() {
	echo check >$MD/sync_action
	wait_for $LONG_S is_whole && [ "$(cat $MD/mismatch_cnt)" -eq 0 ]
}

details() {
	diag "$(cat /proc/mdstat "$CTL/state" "$CTL/last_error" "$CTL/counters")"
	diag "$(tail -5 $BRICK_LOG)"
	diag "$(cat "$FAULT/counters")"
}

# Right after a flush there is nothing to lose: then it takes another cut.
are_enough() {
	[ $_i -ge "$CUTS" ] && {
		[ "$(fault_count lost_lines)" -gt "$total" ] ||
			[ $_i -ge $((CUTS + MORE_CUTS)) ]
	}
}

fault_setup power=1 seed="$SEED"
bricks_setup 2 "lease-ms = 600000"
make_md
_i=0 total=$(fault_count lost_lines)
until are_enough; do
	_i=$((_i + 1))
	check "cut $_i: a half loses its power, and md knows" lose_power || {
		details
		break
	}
	check "cut $_i: who writes goes on" goes_on
	check "cut $_i: nothing that was flushed is lost" end_writer
	check "cut $_i: the half is back, and whole" return_half || {
		details
		break
	}
	check "cut $_i: the halves are the same" compare
	check "cut $_i: nothing is lost now" \
		powerfail-verify-disk /tmp/notes /dev/md0
done
check "bytes were really lost" test "$(fault_count lost_lines)" -gt "$total"
check "it is stopped" stop_md
detach_halves
same_boot
fault_end bricks_end 2
