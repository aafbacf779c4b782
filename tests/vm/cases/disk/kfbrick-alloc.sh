# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Allocations fail in the driver and below it, at random: an attach says so or
# works, a disk that is there loses nothing, comes back, and goes.
# KERNEL: debug
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900
# ALLOW: Call Trace|page allocation failure

# KFB_ROUNDS: of each module and share; KFB_PERCENT: the shares that fail.
LONG_S=300
ROUNDS=${KFB_ROUNDS:-2}
PERCENT=${KFB_PERCENT:-1 5}
MANY=1000000
DEBUGFS=/sys/kernel/debug

# between KNOBS KIND MODULE: the addresses of a module
between() {
	_size=$(awk -v m="$3" '$1 == m { print $2 }' /proc/modules)
	_start=$(awk -v m="$3" '$1 == m { print $6 }' /proc/modules)
	[ -n "$_start" ] || return 0
	echo "$_start" >"$1/$2-start"
	printf '0x%x\n' $((_start + _size)) >"$1/$2-end"
}

# Of what is called from MODULE, whoever allocates for it, PERCENT fails. That an
# allocation may sleep does not save it. Soft RoCE is spared: what it has not
# begun it ends with a warning.
allocations_fail() { # allocations_fail MODULE PERCENT
	for _kind in failslab fail_page_alloc; do
		_knobs=$DEBUGFS/$_kind
		echo N >"$_knobs/ignore-gfp-wait"
		echo 0 >"$_knobs/verbose"
		echo 32 >"$_knobs/stacktrace-depth"
		between "$_knobs" require "$1"
		between "$_knobs" reject rdma_rxe
		echo $MANY >"$_knobs/times"
		echo "$2" >"$_knobs/probability"
	done
	echo 0 >$DEBUGFS/fail_page_alloc/min-order
}

allocations_work() { # and FAILED more of them have failed
	for _kind in failslab fail_page_alloc; do
		echo 0 >$DEBUGFS/$_kind/probability
		FAILED=$((FAILED + MANY - $(cat $DEBUGFS/$_kind/times)))
		echo $MANY >$DEBUGFS/$_kind/times
	done
}

# A refused attach names the cause and leaves nothing behind; the session of the
# one before it may not be over yet.
attach_or_say() {
	_tries=0
	while ! attach_disk --size 16M --queues 2 --retain-mb 8 \
		--reconnect-s 600 >/tmp/attach.out; do
		refused=$((refused + 1))
		if ! grep -qE 'memory|connection|has mapped' /tmp/attach.err; then
			echo "attach did not name the cause:"
			cat /tmp/attach.err
			return 1
		fi
		_tries=$((_tries + 1))
		[ $_tries -lt 20 ] || allocations_work
		[ $_tries -lt 25 ] || return 1
	done
}

# Even the order to go has to be opened.
detach_or_say() {
	_tries=0
	until detach_disk 2>/tmp/detach.err; do
		grep -q memory /tmp/detach.err || {
			cat /tmp/detach.err
			return 1
		}
		_tries=$((_tries + 1))
		[ $_tries -lt 50 ] || return 1
	done
}

write_it() {
	dd if=/tmp/input of="$DISK" bs=64k oflag=direct conv=fsync,notrunc \
		2>/tmp/dd.err || { cat /tmp/dd.err; return 1; }
}

is_written() {
	dd if="$DISK" bs=64k count=128 iflag=direct 2>/dev/null |
		cmp - /tmp/input
}

comes_back() { # after its brick died
	kill_brick
	serve_brick && write_it && wait_for $LONG_S state_is up
}

step() { # step TEXT COMMAND...: it succeeds, or its text is told
	_step=$1
	shift
	"$@" && return
	echo "this failed: $_step"
	return 1
}

one_round() { # one_round MODULE PERCENT
	head -c $((8 << 20)) /dev/urandom >/tmp/input
	allocations_fail "$1" "$2"
	step "attach works or says why" attach_or_say &&
		allocations_fail "$1" "$2" &&
		step "it writes" write_it &&
		step "it comes back" comes_back
	_rc=$?
	allocations_work
	[ $_rc -eq 0 ] || return
	step "it has what was written" is_written || return
	allocations_fail "$1" "$2"
	step "it goes" detach_or_say
	_rc=$?
	allocations_work
	[ $_rc -eq 0 ] && wait_for $LONG_S fabric_idle
}

rounds_of() { # rounds_of MODULE PERCENT
	_round=0
	while [ $_round -lt "$ROUNDS" ]; do
		_round=$((_round + 1))
		one_round "$1" "$2" || return
	done
}

disk_setup "lease-ms = 5000"
for module in kfbrick "kfabric_$CARRIER" kfabric_core; do
	FAILED=0 refused=0
	for percent in $PERCENT; do
		check "$module: $percent% of its allocations fail" \
			rounds_of $module "$percent"
	done
	allocations_work
	check "$module: some have failed" test "$FAILED" -gt 0
	diag "$module: $FAILED allocations failed, $refused attaches refused"
done
disk_end
