# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The kernel warns: nothing else goes wrong.
# GROUP: one
check "true succeeds" true
echo "<4>WARNING: CPU: 0 PID: 1 at selfcheck" >/dev/kmsg
