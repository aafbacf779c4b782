# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The guest itself: the kernel asked for runs, its tools work.
# GROUP: small
# TIMEOUT: 30

check "the running kernel is the one whose modules are here" \
	test -d "/lib/modules/$(uname -r)"
check "busybox counts" test "$(seq 3 | wc -l)" -eq 3
check "a module loads with what it needs" modprobe virtio_net
check "the module shows in lsmod" sh -c 'lsmod | grep -q ^virtio_net'
check_fails "a module that is not there does not load" modprobe kfb_absent
check "a deadline ends a wait" sh -c \
	'. /vm/guest.sh; WAIT_LEAST_S=1; ! wait_for 1 false'
