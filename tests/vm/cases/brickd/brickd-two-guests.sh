# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# brickd in one guest, brickctl in the other, soft RoCE on the wire between.
# NEEDS: rdma nvdimm
# BIN: brickd brickctl
# GUESTS: 2
# NVDIMM: 256M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 500

BLOCKS=8
BYTES=$((BLOCKS << 21))
LONG_S=100 # for what takes some seconds on a machine with nothing else to do
export IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1

# The key is the same in both guests by agreement: they share no file.
make_key() {
	printf '%064d\n' 12345678 >/tmp/key && chmod 600 /tmp/key
}

configure() { # configure STORE
	cat >/tmp/conf <<-END
		[brick]
		store = $1
		listen = verbs://$SERVER_IP
		[client a]
		key-file = /tmp/key
		grant = 0x0+1T rw
	END
}

serve() {
	rm -f /tmp/ready
	brickd --config /tmp/conf --ready-fd 3 3>/tmp/ready >>/tmp/log 2>&1 &
	daemon=$!
	wait_for $LONG_S test -s /tmp/ready
}

brick() {
	brickctl --timeout 60 --brick "verbs://$SERVER_IP" --client a \
		--key-file /tmp/key "$@"
}

listed() { # all blocks, as one extent
	brick list | grep -q "^0x0000000000000000 *$BLOCKS "
}

says_soft() { # the network card below eth0 is none of soft RoCE's
	brick info | grep -q "places data by the brick's CPU"
}

server() {
	dax=$(devdax_setup) || bail "a devdax namespace can be made"
	configure "$dax"
	check "devdax is formatted" brickd format "$dax" --force
	check "brickd serves it" serve || diag "$(cat /tmp/log)"
	announce serving
	check "the client has written" wait_peer written $LONG_S
	kill -KILL $daemon
	wait $daemon
	check "brickd serves again after SIGKILL" serve
	announce again
	check "the client has read" wait_peer read $LONG_S
	kill $daemon
	check "brickd stops cleanly" wait $daemon
	grep -q 'stopped cleanly' /tmp/log || diag "$(cat /tmp/log)"
}

client() {
	check "brickd serves" wait_peer serving $LONG_S || return
	check "INFO says that soft RoCE needs the CPU" says_soft
	head -c $BYTES /dev/urandom >/tmp/input
	check "blocks are allocated" brick alloc 0x0+$BLOCKS
	check "they are written one-sidedly and flushed" \
		brick write 0x0 -i /tmp/input
	announce written
	check "brickd serves again" wait_peer again $LONG_S || return
	check "they are still allocated" listed
	check "they are read" brick read 0x0 --length $BYTES -o /tmp/output
	check "what was flushed is what is read" cmp /tmp/input /tmp/output
	announce read
}

check "the wire is up" net_setup || exit
check "soft RoCE starts on eth0" rxe_setup rxe0 eth0 || exit
make_key
check "the guests meet" meet up $LONG_S || exit
$ROLE
check "the guests part" meet bye $LONG_S
