# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A kernel module's results, out of the log: one failed, one never came.
# GROUP: one
cat >/tmp/log <<'END'
[    5.125000] fabric_test: KTAP version 1
[    5.125001] fabric_test: 1..2
[    5.125002]     1..3
[    5.125003]     ok 1 first
[    5.125004]     not ok 2 - second
[    5.125005]     # why it did not
[    5.125006] ok 1 - suite
[   15.125007] fabric_test: ok 2 - other
[   15.125007] fabric_test: nothing of interest
END
ktap /tmp/log
