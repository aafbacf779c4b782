# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The guest dies; what comes after it gets another guest.
# GROUP: one
check "true succeeds" true
echo c >/proc/sysrq-trigger
