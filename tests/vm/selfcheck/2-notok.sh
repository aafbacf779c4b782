# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A point that fails.
# GROUP: one
check "false succeeds" false
