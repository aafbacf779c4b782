# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The case ends before its last point.
# GROUP: one
check "true succeeds" true
exit 0
