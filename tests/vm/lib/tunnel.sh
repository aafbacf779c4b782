# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A WireGuard tunnel, and what somebody on the wire below it sees.

WG_PORT=51820
# shellcheck disable=SC2034 # of cases
WG_SERVER_IP=10.9.0.1
# shellcheck disable=SC2034
WG_CLIENT_IP=10.9.0.2

# tunnel_key NAME: a private key. Both ends know both by agreement: guests share
# no file, and nothing here is secret.
tunnel_key() {
	printf '%-32.32s' "kfbrick test $1" | base64
}

# tunnel_setup NAME PEER ADDRESS PEER-ADDRESS NETDEV PEER-ENDPOINT: wg0 over
# NETDEV, by way of the words $TUNNEL_IN.
tunnel_setup() {
	_mtu=$($TUNNEL_IN ip -o link show "$5" | sed 's/.* mtu \([0-9]*\).*/\1/')
	modprobe wireguard &&
		$TUNNEL_IN ip link add wg0 type wireguard || return
	tunnel_key "$1" >/tmp/wg.key
	$TUNNEL_IN wg set wg0 private-key /tmp/wg.key listen-port $WG_PORT \
		peer "$(tunnel_key "$2" | wg pubkey)" allowed-ips "$4/32" \
		endpoint "$6:$WG_PORT" || return
	$TUNNEL_IN ip addr add "$3/24" dev wg0
	$TUNNEL_IN ip link set wg0 mtu $((_mtu - 80)) up
}

capture_begin() { # capture_begin NETDEV: all that passes there
	tcpdump -Z root -i "$1" -s 0 -B 32768 -w /tmp/capture \
		"not port $PEER_PORT" >/dev/null 2>/tmp/capture.err &
	CAPTURE=$!
	wait_for 60 grep -q 'listening on' /tmp/capture.err
}

capture_end() { # nothing was dropped
	kill -INT "$CAPTURE" && wait "$CAPTURE"
	grep -q '^0 packets dropped by kernel' /tmp/capture.err || {
		cat /tmp/capture.err
		return 1
	}
}

captured_mib() { # captured_mib N: so many, at least
	_bytes=$(stat -c %s /tmp/capture)
	echo "$_bytes bytes were captured"
	[ "$_bytes" -ge $(($1 << 20)) ]
}

seen() { # seen TEXT: on the wire. grep stops at the end of a line, and at a zero
	_n=$(tr '\000' '\n' </tmp/capture | grep -c -F -e "$1")
	echo "$1 was seen in $_n lines"
	[ "$_n" -gt 0 ]
}

unseen() { # unseen TEXT
	! seen "$1"
}

passed() { # passed FILTER: packets that tcpdump's filter takes
	_n=$(tcpdump -Z root -n -r /tmp/capture "$1" 2>/dev/null | wc -l)
	echo "$_n packets of $1"
	[ "$_n" -gt 0 ]
}

# plain_text TEXT MIB: a file of lines of it
plain_text() {
	yes "$1" | head -c $(($2 << 20)) >/tmp/plain
}
