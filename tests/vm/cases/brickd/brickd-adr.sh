# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What brickd promises where the memory controller's queue survives (ADR), and
# what settings make of it.
# NEEDS: rdma nvdimm
# BIN: brickd brickctl
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 240

dax=$(devdax_setup) || bail "a devdax namespace can be made"
check "soft RoCE starts on dummy0" rxe_setup || exit
brick_setup "$dax" || bail "a store can be made"

# memory_is_locked : all of brickd's that it has used, and not the medium
memory_is_locked()
{
	local pid locked size
	pid=$(pidof brickd)
	locked=$(awk '/^VmLck:/ { print $2 }' "/proc/$pid/status")
	size=$(awk '/^VmRSS:/ { print $2 }' "/proc/$pid/status")
	echo "# locked: $locked kB, resident: $size kB"
	[ "$locked" -gt 1024 ] || return 1
	awk -v dax="$dax" '$6 == dax { of = 1 }
		of && /^VmFlags:/ { locked = / lo( |$)/; seen = 1; exit }
		END { exit !seen || locked }' "/proc/$pid/smaps"
}

check "brickd serves with its defaults" brick_serve
check "its memory is locked, the medium is not" memory_is_locked
check "it names the region" brick_log_has 'is devdax in region0'
check "soft RoCE flushes by message" brick_says verbs flush_mode message
check "because the CPU places" \
	brick_says verbs flush_why "the fabric places data by the brick's CPU"
check "so does tcp" brick_says tcp flush_mode message
check "nothing of it is unsafe" brick_says verbs unsafe false
check "doctor names the domain" \
	prints "region0: what has reached the memory controller" brickctl doctor
check "it stops" brick_stop

check "brickd serves with ddio = off" brick_serve 'ddio = off'
check "that says nothing of soft RoCE" brick_says verbs flush_mode message
check "it stops" brick_stop

check "brickd serves with persistence = assume-readback" \
	brick_serve 'persistence = assume-readback'
check "clients read back" brick_says verbs flush_mode readback
check "they are told that it is unsafe" brick_says verbs unsafe true
check "and why" \
	brick_says verbs flush_why "assumed by configuration: unsafe"
check "the log says so" brick_log_has 'UNSAFE: persistence = assume-readback'
check "it stops" brick_stop
