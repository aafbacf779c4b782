# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The fault layer below the disks (kfabric/test/fault), and brick hosts that lose their
# power by its model. FAULT is where its knobs are.

FAULT=$FABRIC/fault

fault_setup() { # fault_setup [KNOB=VALUE...]
	modprobe kfabric_fault || bail "the fault layer loads"
	for _knob; do
		echo "${_knob#*=}" >"$FAULT/${_knob%%=*}"
	done
}

fault_end() { # fault_end COMMAND...: it ends the disks, from here on without faults
	echo 1 >"$FAULT/reset"
	"$@"
	check "the fault layer unloads" rmmod kfabric_fault
}

fault_count() { # fault_count NAME: of its counters
	sed -n "s/^$1 //p" "$FAULT/counters"
}

fault_count_above() { # fault_count_above NAME N
	[ "$(fault_count "$1")" -gt "$2" ]
}

# ---- losses of power

another_boot() { # brickd takes this for another boot of the machine
	_id=/proc/sys/kernel/random/boot_id
	umount $_id 2>/dev/null
	cat /proc/sys/kernel/random/uuid >/tmp/boot_id
	mount --bind /tmp/boot_id $_id
}

# The brick's host loses its power. Disks are refused meanwhile: they would come
# back to brickd between the loss of the bytes and the end of the host.
cut_power() {
	echo 1 >"$FAULT/power_off"
	echo 1 >"$FAULT/power_cut"
	kill_brick
	echo 0 >"$FAULT/power_off"
}

# The same with nothing under way, since brickd is stopped first: whoever waits
# for a FLUSH has nothing to lose. And it boots. COMMAND runs in the background, as
# process WAITER, when the disk is connecting.
fail_power() { # fail_power [COMMAND...]
	kill -STOP "$BRICKD"
	cut_power
	if [ $# -gt 0 ]; then
		wait_for "${LONG_S:-100}" state_is connecting || return
		"$@" &
		# shellcheck disable=SC2034 # of the case
		WAITER=$!
	fi
	another_boot && serve_brick
}

is_off() {
	read -r _off <"$FAULT/power_off" && [ "$_off" = 1 ]
}

# fail_power_at N: likewise, at the Nth operation of all disks from now on. What
# is under way then goes on until the cut gets hold of it, as it would.
fail_power_at() {
	echo "$1" >"$FAULT/power_off_nth"
	wait_for "${LONG_S:-100}" is_off || return
	echo 1 >"$FAULT/power_cut" # waits for the one that has begun
	kill_brick
	another_boot && serve_brick && echo 0 >"$FAULT/power_off"
}

same_boot() { # the end of another_boot
	umount /proc/sys/kernel/random/boot_id
}
