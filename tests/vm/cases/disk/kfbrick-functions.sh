# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Which functions of kfbrick and kfabric a 4 KiB write and its flush cross, as
# ftrace sees them: what the compiler has put into another function is none.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# NVDIMM: 160M persist=mem-ctrl
# MANUAL: yes
# MEASURES: yes

TRACING=/sys/kernel/tracing
ROUNDS=9 # the shortest trace is the one that nothing else got into

write_4k() { # write_4k [CONV]
	dd if=/dev/zero of="$DISK" bs=4k count=1 oflag=direct \
		conv="notrunc${1:+,$1}" 2>/dev/null
}

filter() { # filter FUNCTIONS: to be traced besides
	echo "$1" >>$TRACING/set_ftrace_filter
}

trace_of() { # trace_of FILE COMMAND...: MODULE FUNCTION, a line a call
	_to=$1
	shift
	for _round in $(seq $ROUNDS); do
		echo >$TRACING/trace
		echo 1 >$TRACING/tracing_on
		"$@" || return
		echo 0 >$TRACING/tracing_on
		sed -nE 's/^[^#].*: ([a-z_0-9]+)( \[([a-z_]+)\])? <-.*/\3 \1/p' \
			$TRACING/trace >/tmp/round
		[ -s "$_to" ] && [ "$(wc -l <"$_to")" -le "$(wc -l </tmp/round)" ] ||
			cp /tmp/round "$_to"
	done
	[ -s "$_to" ]
}

say_calls() { # say_calls NAME FILE
	diag "$1: $(wc -l <"$2") calls of $(sort -u "$2" | wc -l) functions"
	uniq -c "$2" | while read -r n name; do
		diag "  $name$([ "$n" = 1 ] || echo " x$n")"
	done
}

rxe_setup || bail "soft RoCE starts"
disk_setup "persistence = assume-readback"
check "a disk is attached" attach_disk --base 0x0 --size 8 --queues 1 || exit
check "the disk's first block is mapped" write_4k fsync || exit
[ -d $TRACING/events ] || mount -t tracefs tracefs $TRACING
for module in kfbrick kfabric_core kfabric_verbs; do
	check "$module can be traced" filter ":mod:$module"
done
echo 0 >$TRACING/tracing_on
echo function >$TRACING/current_tracer
check "a write is traced" trace_of /tmp/write write_4k
check "a write and its flush are traced" trace_of /tmp/both write_4k fsync
say_calls "a write of 4 KiB" /tmp/write
say_calls "a write of 4 KiB and its flush ($(cat "$CTL/flush_mode"))" /tmp/both
echo nop >$TRACING/current_tracer
check "it is detached" detach_disk
disk_end
