# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A guest that wants to be killed is booted again: one more point there.

check "boot $BOOT" true
if [ "$BOOT" = 1 ]; then
	die_and_boot
fi
check "and no third" test "$BOOT" = 2
