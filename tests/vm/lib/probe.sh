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
