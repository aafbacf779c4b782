# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A case without fault, for comparison.
# GROUP: one
check "true succeeds" true
check_fails "false fails" false
skip "a point that cannot run here" "for no reason"
