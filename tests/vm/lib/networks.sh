# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Two networks between the guests of a pair, net1 and net2: 10.11.0 and 10.12.0, of which
# the server has .1 and the client .2. A case that uses them has "MODULES: bridge dummy
# vxlan".
#
# Both are tunnels over one wire (VXLAN: of a VLAN the kernel's RDMA core expects tags
# that soft RoCE does not have). What goes down is wireN, the port of a bridge, for the
# reason that kfbrick-cut has.

NETS="10.11.0 10.12.0"

own_host() {
	if [ "$ROLE" = client ]; then echo 2; else echo 1; fi
}

# The shell's own ip knows no VXLAN.
network() { # network N NET: a tunnel to the peer below a bridge, netN
	/bin/ip link add "wire$1" type vxlan id "$1" remote "$(peer_ip)" \
		dstport $((5000 + $1)) dev eth0 &&
		ip link add "net$1" type bridge forward_delay 0 || return
	for _port in "wire$1" "dummy$(($1 - 1))"; do
		ip link set "$_port" mtu 4000 master "net$1" up || return
	done
	ip link set "net$1" mtu 4000 up &&
		ip addr add "$2.$(own_host)/24" dev "net$1" || return
	[ "$PROVIDER" != verbs ] || rxe_setup "rxe$1" "net$1"
}

networks_setup() {
	modprobe -a bridge vxlan && modprobe dummy numdummies=2 || return
	_n=0
	for _net in $NETS; do
		_n=$((_n + 1))
		network $_n "$_net" || return
	done
	ip link set lo up && modprobe "kfabric_$PROVIDER"
}

network_of_disk() { # the one that its session is on
	case $(cat "$CTL/brick") in
	*10.11.0.1*) echo 1 ;;
	*) echo 2 ;;
	esac
}
