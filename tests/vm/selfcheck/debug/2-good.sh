# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A case without fault, for comparison, and the last of its boot.
# KERNEL: debug
# KO: vm_fault
# GROUP: one
check "true succeeds" true
