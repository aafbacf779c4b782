# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What a disk costs through a WireGuard tunnel, beside nvme-tcp through the same one,
# and beside both without it. Both ends are in one guest, the targets in a network
# namespace of their own, so that --icount counts all that it takes.
# NEEDS: nvdimm nvme fio wireguard
# KO: kfabric_core kfabric_tcp kfbrick
# BIN: brickd brickctl
# NVDIMM: 192M persist=mem-ctrl
# NVDIMM: 192M persist=mem-ctrl
# MEM: 1G
# MANUAL: yes
# MEASURES: yes
# TIMEOUT: 3000

# All four disks are there at the same time and have their turns in each round.

use_carrier tcp
# shellcheck disable=SC2034 # of disk.sh
OPEN_WIRE=no
OPEN=--allow-untrusted-tcp
ROUNDS=${KFB_COST_ROUNDS:-3}
export OPS_MIB=${KFB_COST_MIB:-8} # 256 operations each
HERE_IP=10.77.0.1
THERE_IP=10.77.0.2
WIRE_MTU=${KFB_MTU:-1500}

namespace_is_there() { # namespace_is_there PROCESS: it has one of its own
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

wire_up() { # two network cards, one in a namespace that $THERE leads to
	unshare -n sleep 100000 &
	THERE="nsenter --net=/proc/$!/ns/net"
	# Before it has left this one, the card would stay here. What ip is here does
	# not pass the peer's name on; the kernel calls it veth0.
	wait_for 20 namespace_is_there $! && modprobe veth &&
		ip link add here type veth && ip link set veth0 netns $! || return
	ip link set here mtu "$WIRE_MTU" up
	ip addr add $HERE_IP/24 dev here
	$THERE ip link set veth0 mtu "$WIRE_MTU" up
	$THERE ip link set lo up
	$THERE ip addr add $THERE_IP/24 dev veth0
}

both_tunnels() {
	tunnel_setup client server "$WG_CLIENT_IP" "$WG_SERVER_IP" here \
		$THERE_IP || return
	# What WireGuard sends goes by the namespace that it was made in.
	TUNNEL_IN=$THERE tunnel_setup server client "$WG_SERVER_IP" \
		"$WG_CLIENT_IP" veth0 $HERE_IP
}

brick_there() { # brickd in the namespace, on the tunnel and on the wire
	printf '#!/bin/sh\nexec %s brickd "$@"\n' "$THERE" >/tmp/brick-there
	chmod +x /tmp/brick-there
	export BRICK_PROGRAM=/tmp/brick-there
	dax=$(devdax_setup) || return
	configure_brick "$dax" "$WG_SERVER_IP%wg0, tcp://$THERE_IP" \
		"allow-untrusted-tcp = yes"
	brickd format "$dax" --force && serve_brick
}

attach_by() { # attach_by ADDRESS BASE OPTION...: its disk is $DISK
	# shellcheck disable=SC2034 # of disk.sh
	BRICK_IP=$1 _base=$2
	shift 2
	attach_disk --base "$_base" --size 34 --queues 1 "$@"
}

path_is() {
	grep -qx "$1" "$CTL/path"
}

rounds() {
	for _round in $(seq "$ROUNDS"); do
		measure kfbrick-wireguard "$TUNNEL_DISK"
		measure nvme-tcp-wireguard "$(nvme_disk 1)"
		measure kfbrick-tcp "$OPEN_DISK"
		measure nvme-tcp "$(nvme_disk 2)"
	done
}

check "the wire is up" wire_up || exit
check "a tunnel goes over it" both_tunnels || exit
make_key
check "a brick serves there" brick_there || { diag "$(cat "$BRICK_LOG")"; exit; }
check "the driver loads" modprobe kfbrick || exit
check "a disk is attached through the tunnel" attach_by "$WG_SERVER_IP" 0 || exit
check "it is in the tunnel" path_is "wireguard wg0"
# shellcheck disable=SC2153 # of disk.sh
TUNNEL_DISK=$DISK
check "one is attached without it" attach_by $THERE_IP 1G $OPEN || exit
check "it is on the wire" path_is "untrusted here"
OPEN_DISK=$DISK
check "the other NVDIMM is a disk" wait_for 10 test -b /dev/pmem1
check "it is there by NVMe over TCP, through the tunnel" \
	nvme_attach tcp "$WG_SERVER_IP" 4420 1 || exit
check "and without it" nvme_attach tcp $THERE_IP 4421 2 || exit
rounds
diag "MTU $WIRE_MTU, of the tunnel $(cat /sys/class/net/wg0/mtu)"
table "write, ns" "write + fsync, ns" "read, ns" "QD16 write, IOPS" \
	"QD16 read, IOPS" "1 MiB writes, MiB/s"
tap ok "all four are measured"
nvme_end
for disk in "$TUNNEL_DISK" "$OPEN_DISK"; do
	check "$disk is detached" detach_disk "$disk"
done
disk_end
