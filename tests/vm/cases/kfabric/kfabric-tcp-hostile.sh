# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Peers that break the rules of tcp's wire, against an end in the kernel.
# NEEDS: python
# KO: kfabric_core kfabric_tcp kfi_target
# FILES: tests/func/tcp_peers.py tests/vm/target/peers.py
# GROUP: kfabric
# MEM: 1G
# TIMEOUT: 1000

target() { # target NAME: what the module says of itself
	cat "/sys/module/kfi_target/parameters/$1"
}

all_over() { # nobody is connected
	[ "$(target taken)" -gt 0 ] && [ "$(target taken)" = "$(target ended)" ]
}

check "the loop-back device is up" ip link set lo up
check "the provider and its target load" modprobe kfi_target || exit
_before=$(kernel_kib)
hostile() {
	timeout 4000 python3 /vm/files/peers.py "${KFB_ROUNDS:-100}" \
		${KFB_SEED:+"$KFB_SEED"} >/tmp/points 2>&1
}
check "the peers come to their end" hostile
script_points /tmp/points
check "no connection is left" wait_for 60 all_over
diag "connections $(target taken), refused $(target refused)," \
	"messages $(target messages)"
check "no byte landed where it must not" test "$(target bad)" = 0
check "the kernel has not grown by 4 MiB" \
	wait_for 60 kernel_below $((_before + 4096))
check "a broken rule is in the log" eval 'case_log | grep -q "connection .* ends:"'
check "the target unloads" rmmod kfi_target
check "no object is left open" wait_for 10 fabric_idle
check "the provider unloads" rmmod kfabric_tcp
