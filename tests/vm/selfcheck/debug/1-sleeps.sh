# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The kernel sleeps under a spinlock.
# KERNEL: debug
# KO: vm_fault
# GROUP: one
check "the fault loads" modprobe vm_fault fault=sleep
check "it unloads" rmmod vm_fault
