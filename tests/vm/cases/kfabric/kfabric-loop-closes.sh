# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Both ends of a connection over loop close while bytes are copied from one to the other.
# KO: kfabric_core kfabric_loop kfabric_selftest kfi_probe
# TIMEOUT: 120

may() { # may WHAT: has the test said so?
	dmesg_since "# holding begins" | grep -q "now the copy may $1"
}

check "the loop provider loads" modprobe kfabric_loop || exit
probe_setup
echo "# holding begins" >/dev/kmsg
probe hold kfi_buf_copy
modprobe kfabric_selftest provider=loop only=two_closes &
load=$!
check "a message is sent" wait_for 30 may "be held"
check "it is being copied" wait_for 30 probed_above kfi_buf_copy 0
echo 1 >/sys/module/kfabric_selftest/parameters/go
check "both ends are closed" wait_for 60 may "go on"
probe release
check "the test ends" wait $load
selftest_end
probe_end
check "the loop provider unloads" wait_for 30 rmmod kfabric_loop
