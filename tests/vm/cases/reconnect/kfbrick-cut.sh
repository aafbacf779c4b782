# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The network between a disk and its brick is cut again and again under fio,
# until that is noticed, or for longer than a lease: all that was written is
# verified, and nothing hangs. KFB_CUTS says how often. A cut that is noticed
# before the lease is over ends no session: its queues join it again.
#
# What goes down is the port of a bridge, and soft RoCE is on the bridge. It does
# not live through the end of its own device: the first datagram that finds no
# route puts its queue pair for connection management into an error state, and
# nothing takes it out of it again.
# NEEDS: rdma nvdimm fio
# MODULES: bridge dummy
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick
# BIN: brickd brickctl
# GUESTS: 2
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 7200

LONG_S=300
LEASE_S=45 # an operation that is not answered is noticed in a third of it
[ "$KIND" != debug ] || LEASE_S=90 # the way back takes as long as a lease there
BRICK_IP=$SERVER_IP
CUTS=${KFB_CUTS:-3}
SIZE_MIB=16

own_ip() {
	if [ "$ROLE" = client ]; then echo $CLIENT_IP; else echo $SERVER_IP; fi
}

bridge_setup() { # of the wire and of a port that keeps it up
	modprobe bridge && modprobe dummy numdummies=1 || return
	ip link add bridge0 type bridge forward_delay 0 || return
	for _port in eth0 dummy0; do
		ip link set $_port mtu 4200 master bridge0 up || return
	done
	ip addr flush dev eth0
	ip link set bridge0 mtu 4200 up &&
		ip addr add "$(own_ip)/24" dev bridge0
}

server() {
	dax=$(devdax_setup) || bail "a devdax namespace can be made"
	configure_brick "$dax" "$BRICK_IP" "lease-ms = ${LEASE_S}000"
	check "devdax is formatted" brickd format "$dax" --force
	check "brickd serves it" serve_brick || diag "$(cat $BRICK_LOG)"
	announce serving
	check "the client is done" wait_peer "done" 7000
	_sessions=$(grep -c authenticated $BRICK_LOG)
	diag "$(grep -c joined $BRICK_LOG) times a queue joined," \
		"$_sessions sessions"
	check "there were sessions" test "$_sessions" -gt 0
	check "some lived through a cut" test "$_sessions" -le "$CUTS"
	check "brickd stops" stop_brick
}

# Every third cut, and the last of several, lasts for longer than the brick can
# keep a session. Of the others one at least is to be lived through.
outlives() { # outlives N
	[ $(($1 % 3)) -eq 0 ] || { [ "$1" -eq "$CUTS" ] && [ "$1" -gt 1 ]; }
}

cut_once() { # cut_once N
	ip link set eth0 down || return
	wait_for $LONG_S state_is connecting || return
	if outlives "$1"; then
		sleep $((LEASE_S + LEASE_S / 2))
	fi
	ip link set eth0 up && wait_for $LONG_S state_is up
}

client() {
	check "brickd serves" wait_peer serving $LONG_S || return
	check "the driver loads" modprobe kfbrick || return
	check "a disk is attached" attach_disk --size ${SIZE_MIB}M \
		--queues 2 --reconnect-s 600 --retain-mb 8 || return
	begin_load "$DISK" $SIZE_MIB
	_i=0
	while [ $_i -lt "$CUTS" ]; do
		_i=$((_i + 1))
		check "fio writes before cut $_i" is_busy || break
		check "cut $_i is survived" cut_once $_i ||
			diag "$(cat "$CTL/state" "$CTL/last_error")"
	done
	check "fio has found no error" end_load
	diag "fio was run $(cat /tmp/rounds) times; $(cat "$CTL/retain")"
	check "it is detached" detach_disk
	check "the driver unloads" rmmod kfbrick
	check "no object is left open" wait_for 30 fabric_idle
}

check "the wire is up" net_setup || exit
check "it is the port of a bridge" bridge_setup || exit
check "the carrier is there" carrier_setup bridge0 || exit
make_key
check "the guests meet" meet up $LONG_S || exit
$ROLE
announce "done"
check "the guests part" meet bye $LONG_S
