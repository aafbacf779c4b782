# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A brick that is served through a WireGuard tunnel: the wire below it shows nothing
# of what a disk and brickctl write and read; who comes off the tunnel is refused;
# and neither the disk nor the library goes off it, whatever the routes say.
# NEEDS: nvdimm wireguard
# KO: kfabric_core kfabric_tcp kfbrick
# BIN: brickd brickctl
# GUESTS: 2
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 1200

use_carrier tcp
# shellcheck disable=SC2034 # of disk.sh
OPEN_WIRE=no
LONG_S=200
MIB=4
OPEN=--allow-untrusted-tcp
NO_TUNNEL="is no WireGuard interface"
TELLS="eth0, which $NO_TUNNEL, and what tcp carries is not encrypted"

# ---- the brick

serve_at() { # serve_at ADDRESS [SETTING...]
	configure_brick "$dax" "$@"
	serve_brick
}

does_not_serve() { # does_not_serve WORDS ADDRESS: and says why
	_words=$1
	shift
	: >$BRICK_LOG
	serve_at "$@" && return 1
	grep -qF -e "$_words" $BRICK_LOG || {
		cat $BRICK_LOG
		return 1
	}
}

serve_phase() { # serve_phase NAME ADDRESS [SETTING...]: until the client is done
	_phase=$1
	shift
	check "$_phase: brickd serves" serve_at "$@" || diag "$(cat $BRICK_LOG)"
	announce "serves-$_phase"
	check "$_phase: the client is done" wait_peer "done-$_phase" 600
	check "$_phase: brickd stops" stop_brick
	announce "stopped-$_phase"
}

server() {
	dax=$(devdax_setup) || bail "a devdax namespace can be made"
	check "the tunnel is made" tunnel_setup server client $WG_SERVER_IP \
		$WG_CLIENT_IP eth0 $CLIENT_IP
	check "devdax is formatted" brickd format "$dax" --force
	check "brickd does not serve on the open wire" does_not_serve \
		"is not a loopback address" $SERVER_IP
	check "and says what to do" sh -c 'grep -F "tcp://10.9.0.1%wg0" $0 |
		grep -F "allow-untrusted-tcp = yes"' $BRICK_LOG
	check "nor at the tunnel's address without the tunnel's name" \
		does_not_serve "name a WireGuard interface" $WG_SERVER_IP
	check "nor bound to what is no tunnel" does_not_serve \
		"eth0 $NO_TUNNEL (its kind is none)" "$SERVER_IP%eth0"
	check "nor to what is not there" does_not_serve \
		"interface wg1: No such device" "$WG_SERVER_IP%wg1"
	serve_phase open $SERVER_IP "allow-untrusted-tcp = yes"
	: >$BRICK_LOG
	serve_phase bound "$WG_SERVER_IP%wg0"
	check "the log names the path" \
		grep -qF "%wg0:20149 (wireguard)" $BRICK_LOG
	# brickctl renews no lease while it waits for its input.
	serve_phase unbound $WG_SERVER_IP "allow-untrusted-tcp = yes" \
		"lease-ms = 600000"
}

# ---- the client

phase() { # phase NAME: the brick is there for it
	check "$1: brickd serves" wait_peer "serves-$1" 400
}

phase_end() {
	announce "done-$1"
	check "$1: brickd has stopped" wait_peer "stopped-$1" $LONG_S
}

route_off() { # the tunnel's address by way of the open wire
	ip route add "$WG_SERVER_IP/32" via $SERVER_IP dev eth0
}

route_back() {
	ip route del "$WG_SERVER_IP/32"
}

# write_and_read TEXT: lines of it, through the disk
write_and_read() {
	plain_text "$1" $MIB
	dd if=/tmp/plain of="$DISK" bs=1M oflag=direct conv=fsync || return
	dd if="$DISK" of=/tmp/back bs=1M count=$MIB iflag=direct || return
	cmp /tmp/plain /tmp/back
}

path_is() { # path_is TEXT: of the disk
	_path=$(cat "$CTL/path")
	echo "the path is $_path"
	[ "$_path" = "$1" ]
}

open_wire() { # what the tunnel is there against, and that the capture sees it
	# shellcheck disable=SC2034 # of disk.sh
	BRICK_IP=$SERVER_IP
	check "open: brickctl sends nothing" says "$TELLS" ctl info
	check "open: and says what to do" says "$OPEN" ctl info
	check "open: no disk is attached" says "$TELLS" \
		ctl attach --size 8
	check "open: which says what to do" says "$OPEN" ctl attach --size 8
	check "open: with the option it is" attach_disk --size 8 $OPEN || return
	check "open: it says so" path_is "untrusted eth0"
	check "open: info does" prints "path         untrusted eth0" \
		ctl info $OPEN
	check "open: doctor calls it a problem" says \
		"whoever is on the way can read" ctl doctor $OPEN
	check "open: the wire is watched" capture_begin eth0
	check "open: the disk is written and read" write_and_read open-text
	check "open: all of it was captured" capture_end
	check "open: the text is on the wire" seen open-text
	check "open: in packets of the brick's port" passed "tcp port 20149"
	check "open: the disk is detached" detach_disk
}

through_tunnel() {
	# shellcheck disable=SC2034 # of disk.sh
	BRICK_IP=$WG_SERVER_IP
	check "bound: info names the tunnel" \
		prints "path         wireguard wg0" ctl info
	check "bound: so does doctor" \
		prints "is reached by wireguard wg0" ctl doctor
	check "bound: the wire is watched" capture_begin eth0
	check "bound: a disk is attached" attach_disk --size 8 || return
	check "bound: it names the tunnel" path_is "wireguard wg0"
	check "bound: the disk is written and read" write_and_read disk-text
	check "bound: brickctl has blocks of its own" ctl alloc 32M+$MIB
	plain_text brickctl-text $MIB
	check "bound: they are written" ctl write 32M -i /tmp/plain
	check "bound: and read" ctl read 32M --length ${MIB}M -o /tmp/back
	check "bound: byte for byte" cmp /tmp/plain /tmp/back
	check "bound: the disk is detached" detach_disk
	check "bound: all of it was captured" capture_end
	check "bound: as much as was written and read" captured_mib $((4 * MIB))
	check "bound: the disk's text is not on the wire" unseen disk-text
	check "bound: nor is brickctl's" unseen brickctl-text
	check "bound: WireGuard's packets are" passed "udp port $WG_PORT"
	check_fails "bound: none of the brick's port" passed "port 20149"
	route_off
	check "bound: who comes off the tunnel is refused" says \
		"refused" timeout 20 nc -w 10 $WG_SERVER_IP 20149
	check "bound: also brickctl that may" says "refused" ctl info $OPEN
	check "bound: which does not unless told so" says "$TELLS" ctl info
	check "bound: nor does a disk" says "$TELLS" ctl attach --size 8
	route_back
}

pipe_begin() { # brickctl writes what comes by descriptor 8
	mkfifo /tmp/pipe
	ctl write 32M -i /tmp/pipe >/tmp/pipe.out 2>&1 &
	PIPE=$!
	exec 8>/tmp/pipe
	plain_text first-part $MIB
	cat /tmp/plain >&8
}

pipe_end() { # and more, now that the routes have changed
	plain_text piped-text $MIB
	cat /tmp/plain >&8
	exec 8>&-
	wait $PIPE || {
		cat /tmp/pipe.out
		return 1
	}
}

gives_reason() { # the disk says why it does not come back
	cat "$CTL/state" "$CTL/last_error"
	state_is connecting && grep -qF -e "$NO_TUNNEL" "$CTL/last_error" &&
		grep -qF -e "see wg show" "$CTL/last_error"
}

# The brick takes what comes by any interface: nothing but the client's own care
# keeps it in the tunnel.
routes_change() {
	# shellcheck disable=SC2034 # of disk.sh
	BRICK_IP=$WG_SERVER_IP
	check "unbound: a disk is attached" attach_disk --size 8 \
		--reconnect-s 3600 || return
	check "unbound: it goes by the tunnel" path_is "wireguard wg0"
	check "unbound: the wire is watched" capture_begin eth0
	check "unbound: brickctl writes what comes" pipe_begin
	route_off
	check "unbound: brickctl has written the rest" pipe_end
	check "unbound: there is a way off the tunnel" prints \
		"path         untrusted eth0" ctl info $OPEN
	check "unbound: the disk is written and read" write_and_read kept-text
	ip link set wg0 down
	plain_text late-text $MIB
	dd if=/tmp/plain of="$DISK" bs=1M oflag=direct conv=fsync \
		2>/tmp/late.err &
	_late=$!
	check "unbound: without a tunnel the disk waits" \
		wait_for 120 gives_reason
	cat "$CTL/state" "$CTL/last_error" >/tmp/late.state
	check "unbound: it has not been given up" test -d /proc/$_late
	route_back
	ip link set wg0 up
	check "unbound: with the tunnel it is written" wait $_late
	check "unbound: all of it was captured" capture_end
	check "unbound: it is up" state_is up
	check "unbound: in the tunnel" path_is "wireguard wg0"
	dd if="$DISK" of=/tmp/back bs=1M count=$MIB iflag=direct 2>/dev/null
	check "unbound: what was written is there" cmp /tmp/plain /tmp/back
	check "unbound: the disk has kept to the tunnel" unseen kept-text
	check "unbound: brickctl has, too" unseen piped-text
	check "unbound: the disk has not left it for want of another" \
		unseen late-text
	check "unbound: the disk is detached" detach_disk
}

client() {
	check "the tunnel is made" tunnel_setup client server $WG_CLIENT_IP \
		$WG_SERVER_IP eth0 $SERVER_IP
	check "the driver loads" modprobe kfbrick || return
	phase open && open_wire
	phase_end open
	phase bound && through_tunnel
	phase_end bound
	phase unbound && routes_change
	phase_end unbound
	check "the driver unloads" rmmod kfbrick
}

check "the wire is up" net_setup || exit
make_key
check "the guests meet" meet up $LONG_S || exit
$ROLE
check "the guests part" meet bye $LONG_S
