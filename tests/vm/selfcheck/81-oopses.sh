# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The kernel kills a task that it finds at fault: the guest ends with it.
# KO: vm_fault
check "true succeeds" true
modprobe vm_fault fault=oops
check "nothing comes after that" true
