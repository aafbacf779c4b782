# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The kernel reports what QEMU's fault with patched instructions looks like.
# TIMEOUT: 60

check "a point before" true
{
	echo "rcu: INFO: rcu_preempt self-detected stall on CPU"
	echo " text_poke_bp_batch+0x29f/0x300"
	echo "NMI backtrace for cpu 1"
	echo " exc_int3+0x3a/0x120"
} >/dev/kmsg
sleep 50
