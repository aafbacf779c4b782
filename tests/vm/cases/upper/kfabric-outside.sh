# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A provider and an upper layer of somebody else, and what the core's parameters choose.
# KO: kfabric_core kfabric_loop kfabric_tcp mirror mirror_client
# GROUP: small
# TIMEOUT: 60

check "the loop-back device is up" ip link set lo up
check "the upper layer loads, and its provider with it" modprobe mirror_client
check "the provider is listed" \
	grep -q "^mirror 1.0 preference=60 objects=0" $FABRIC/providers
check "they unload" rmmod mirror_client mirror
check "providers load" modprobe -a kfabric_loop kfabric_tcp mirror

first() { # first NAME: it is the first that is offered
	modprobe mirror_client first="$1" && rmmod mirror_client
}

check "tcp is the first by preference" first tcp
check "all unload" rmmod mirror kfabric_tcp kfabric_loop kfabric_core
check "the core loads with an order" \
	modprobe kfabric_core order=tcp,mirror exclude=tcp op_timeout_ms=4321
check "providers load again" modprobe -a kfabric_loop mirror kfabric_tcp
check "they are in this order" \
	test "$(cut -d' ' -f1 $FABRIC/providers | tr '\n' ' ')" = "tcp mirror loop "
check "the first that is offered is none that is excluded" first mirror
check "the time-out is the chosen one" \
	modprobe mirror_client timeout_ms=4321
check "it may be changed" eval "rmmod mirror_client &&
	echo 1234 >/sys/module/kfabric_core/parameters/op_timeout_ms &&
	modprobe mirror_client timeout_ms=1234"
