# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Memory that nobody points to.
# KERNEL: debug
# KO: vm_fault
check "the fault loads" modprobe vm_fault fault=leak
check "it unloads" rmmod vm_fault
