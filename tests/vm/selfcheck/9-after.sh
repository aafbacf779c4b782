# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The case after the one that killed its guest.
# GROUP: one
check "true succeeds" true
