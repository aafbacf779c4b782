# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The kernel warns, and the case has said that it would.
# GROUP: one
# ALLOW: WARNING: .* at selfcheck
check "true succeeds" true
echo "<4>WARNING: CPU: 0 PID: 1 at selfcheck" >/dev/kmsg
