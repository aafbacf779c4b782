# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Locks in either order; what lockdep says of it is allowed here, so that the
# point on lockdep itself stands alone.
# KERNEL: debug
# KO: vm_fault
# ALLOW: possible circular locking dependency
# ALLOW: Call Trace
check "the fault loads" modprobe vm_fault fault=inversion
check "it unloads" rmmod vm_fault
