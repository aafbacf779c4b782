# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# No socket of the tcp provider copies what it sends into a page of the task that
# sends: under reclaim another socket would write over it. Since 6.2 the kernel
# leaves that to whoever has the socket.
# KERNEL: 6.12
# KO: kfabric_core kfabric_tcp kfabric_selftest kfi_probe
# TIMEOUT: 300

pages() { # pages own|task: what the kernel's TCP sockets have copied into
	sed -n "s/^pages.* $1=\([0-9]*\).*/\1/p" "$PROBE"
}

check "the loop-back device is up" ip link set lo up
check "the tcp provider loads" modprobe kfabric_tcp || exit
probe_setup
# Both ends are in this kernel: sockets that connect and such that are accepted.
selftest provider=tcp node=127.0.0.1 only=msg
check "sockets of the kernel have sent" test "$(pages own)" -gt 0
check "none has used a page of its task" test "$(pages task)" -eq 0
diag "$(tail -1 "$PROBE")"
probe_end
check "the tcp provider unloads" wait_for 30 rmmod kfabric_tcp
