# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The fabric's core module: loads, shows itself in debugfs, unloads.
# KO: kfabric_core
# GROUP: small
# TIMEOUT: 60

check "the core loads" modprobe kfabric_core || exit
check "the core has a debugfs folder" test -d /sys/kernel/debug/kfabric
check "the core unloads" modprobe -r kfabric_core
check_fails "its debugfs folder is gone" test -d /sys/kernel/debug/kfabric

i=0
while [ $i -lt 20 ] && modprobe kfabric_core && modprobe -r kfabric_core; do
	i=$((i + 1))
done
check "it loads and unloads 20 times" test $i -eq 20
