# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A brick on two networks, and a disk that knows both addresses. The network that the
# disk is on is cut again and again under fio: it goes on by the other, and nobody is
# told of an error. KFB_CUTS says how often; the pauses are printed.
# NEEDS: rdma nvdimm fio
# MODULES: bridge dummy vxlan
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# GUESTS: 2
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 3600

LONG_S=300
LEASE_S=20 # who does not answer is noticed in three eighths of it
[ "$KIND" != debug ] || LEASE_S=90
CUTS=${KFB_CUTS:-2}
BRICK_IP=10.11.0.1
SIZE_MIB=16

server() {
	dax=$(devdax_setup) || bail "a devdax namespace can be made"
	configure_brick "$dax" "$BRICK_IP, $CARRIER://10.12.0.1" \
		"lease-ms = ${LEASE_S}000"
	check "devdax is formatted" brickd format "$dax" --force
	check "brickd serves it" serve_brick || diag "$(cat $BRICK_LOG)"
	announce serving
	check "the client is done" wait_peer "done" 3500
	check "brickd stops" stop_brick
}

goes_on_by() { # goes_on_by NETWORK
	[ "$(network_of_disk)" = "$1" ] && state_is up
}

cut_once() { # the disk's network
	_cut=$(network_of_disk)
	_since=$(now_cs)
	ip link set "wire$_cut" down &&
		wait_for $LONG_S goes_on_by $((3 - _cut)) && is_busy || return
	echo "$(($(now_cs) - _since))0" >>/tmp/pauses
	ip link set "wire$_cut" up
}

# At attach there is no way to the second address; then there is.
late_address() {
	check "this host has no address on the second network" \
		ip addr del 10.12.0.2/24 dev net2
	check "a disk is attached" attach_disk --size ${SIZE_MIB}M \
		--address 10.12.0.1 || return
	check "it is at the first address" goes_on_by 1
	check "this host has an address there" ip addr add 10.12.0.2/24 dev net2
	check "the first network is away again" ip link set wire1 down
	check "it goes on by the second" wait_for $LONG_S goes_on_by 2
	check "what was written is read there" dd if="$DISK" of=/dev/null \
		bs=1M iflag=direct
	check "it is detached" detach_disk
}

client() {
	check "brickd serves" wait_peer serving $LONG_S || return
	check "the driver loads" modprobe kfbrick || return
	check "a disk is attached" attach_disk --size ${SIZE_MIB}M \
		--queues 2 --reconnect-s 600 --retain-mb 8 \
		--address 10.12.0.1 || return
	check "it knows both addresses" test "$(grep -c : "$CTL/addresses")" = 2
	check "it is at the first" goes_on_by 1
	begin_load "$DISK" $SIZE_MIB
	_i=0
	while [ $_i -lt "$CUTS" ]; do
		_i=$((_i + 1))
		check "fio writes before cut $_i" is_busy || break
		check "cut $_i is survived" cut_once ||
			diag "$(cat "$CTL/state" "$CTL/last_error")"
	done
	check "fio has found no error" end_load
	diag "fio was run $(cat /tmp/rounds) times; ms until writes went on:" \
		"$(sort -n /tmp/pauses | paste -sd' ')"
	check "it is detached" detach_disk
	check "the first network is away" ip link set wire1 down
	check "a disk is attached all the same" attach_disk \
		--size ${SIZE_MIB}M --address 10.12.0.1 || return
	check "it is at the second address" goes_on_by 2
	check "what was written is read" dd if="$DISK" of=/dev/null bs=1M \
		iflag=direct
	check "it is detached" detach_disk
	check "the first network is back" ip link set wire1 up
	late_address
	check "the driver unloads" rmmod kfbrick
	check "no object is left open" wait_for 30 fabric_idle
}

check "the wire is up" net_setup || exit
check "there are two networks" networks_setup || exit
make_key
check "the guests meet" meet up $LONG_S || exit
$ROLE
announce "done"
check "the guests part" meet bye $LONG_S
