# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Functions of the kernel that are late, wait or fail: the module kfi_probe
# (tests/vm/probe/probe.c has the words of its orders).

PROBE=/sys/kernel/debug/kfi_probe

probe_setup() {
	modprobe kfi_probe || bail "the probe loads"
}

probe_end() {
	probe clear
	check "the probe unloads" rmmod kfi_probe
}

probe() { # probe ORDER...
	echo "$*" >$PROBE || diag "the probe does not obey: $*"
}

probed() { # probed FUNCTION: how often the order about it was obeyed
	sed -n "s/^[a-z]* $1 //p" $PROBE
}

probed_above() { # probed_above FUNCTION N
	[ "$(probed "$1")" -gt "$2" ]
}

# --- allocations that fail

# alloc_function small|any|pages|large: who allocates, in this kernel, what has a fixed
# length, what has another one, what has many pages, and what may be virtual memory
alloc_function() {
	case $(uname -r):$1 in
	6.1.*:small) echo kmalloc_trace ;;
	6.1.*:any) echo __kmalloc ;;
	6.1.*:pages) echo kmalloc_large ;;
	6.1.*:large) echo kvmalloc_node ;;
	*:small) echo __kmalloc_cache_noprof ;;
	*:any) echo __kmalloc_noprof ;;
	*:pages) echo __kmalloc_large_noprof ;;
	*:large) echo __kvmalloc_node_noprof ;;
	esac
}

alloc_fails() { # alloc_fails KIND CALLER EVERY: every EVERY-th of what CALLER allocates
	probe return "$(alloc_function "$1")" 0 by="$2" every="$3"
	diag "$2: each of $3 fails"
}

alloc_failed() { # alloc_failed KIND CALLER EVERY: it did, and does not any more
	check "$2: some have failed" probed_above "$(alloc_function "$1")" 0
	probe clear
}
