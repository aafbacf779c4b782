# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A brick is killed again and again under fio, then connections are cut as often:
# all that was written is verified, and nothing hangs. KFB_KILLS says how often.
# Before, a session is evicted.
# NEEDS: rdma nvdimm fio
# KO: kfabric_core kfabric_verbs kfabric_tcp kfabric_fault kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 3600

LONG_S=200
KILLS=${KFB_KILLS:-3}
ADMIN=/tmp/admin.sock

kill_once() {
	kill_brick
	wait_for $LONG_S state_is connecting && serve_brick &&
		wait_for $LONG_S state_is up
}

cut_once() { # soon, under an operation
	_cuts=$(fault_count link_cuts)
	echo 10 >"$FAULT/cut_nth"
	wait_for $LONG_S fault_count_above link_cuts "$_cuts" &&
		wait_for $LONG_S state_is up
}

under_fio() { # under_fio NAME COMMAND OPTION...: the command, KILLS times
	_name=$1 _command=$2
	shift 2
	check "$_name: a disk is attached" attach_disk --size 16M --queues 2 \
		--reconnect-s 600 "$@" || exit
	begin_load "$DISK" 16
	_i=0
	while [ $_i -lt "$KILLS" ]; do
		_i=$((_i + 1))
		check "$_name: fio writes before number $_i" is_busy || break
		check "$_name: number $_i is survived" $_command ||
			diag "$(cat "$CTL/state" "$CTL/last_error")"
	done
	check "$_name: fio has found no error" end_load
	diag "$_name: fio was run $(cat /tmp/rounds) times;" \
		"$(cat "$CTL/retain")"
	check "$_name: it is detached" detach_disk
}

the_log_says() {
	dmesg_since "vm case $CASE begins" | grep -q "$1"
}

evicted() { # it is told by whom, and takes a new session
	check "evicted: a disk is attached" attach_disk --size 16M \
		--reconnect-s 600 || exit
	check "evicted: it is" brickctl --admin $ADMIN evict --all a
	check "evicted: the log says by whom" wait_for $LONG_S the_log_says \
		"${DISK#/dev/}: the brick has evicted this client: by user 0" ||
		diag "$(dmesg | tail -5)"
	check "evicted: it comes back" wait_for $LONG_S state_is up
	check "evicted: it is written" dd if=/dev/zero of="$DISK" bs=64k \
		count=4 oflag=direct
	check "evicted: it is detached" detach_disk
}

disk_setup "lease-ms = 3000" "admin = $ADMIN"
evicted
under_fio kills kill_once
under_fio "kills with copies" kill_once --retain-mb 8
fault_setup
under_fio cuts cut_once --retain-mb 8 --provider "fault;$PROVIDER"
fault_end disk_end
