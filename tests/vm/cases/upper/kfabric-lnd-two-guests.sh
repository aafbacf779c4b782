# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The LNet-like driver over the wire: two guests load each other with puts and gets of
# 4 KiB to 1 MiB and with pings for KLND_SECONDS, over verbs and then over tcp, while the
# link between them is cut KLND_CUTS times: none is lost, none is done twice, none fails.
#
# What goes down is the port of a bridge: soft RoCE does not live through the end of its
# own device (kfbrick-cut).
# NEEDS: rdma
# MODULES: bridge dummy
# KO: kfabric_core kfabric_verbs kfabric_tcp kfabric_rdm kfabric_lnd kfabric_lnd_test
# GUESTS: 2
# MEM: 1G
# MANUAL: yes
# MEASURES: yes
# TIMEOUT: 7200

LONG_S=3600
SECONDS_EACH=${KLND_SECONDS:-600}
CUTS=${KLND_CUTS:-10}
CARRIERS=${KLND_CARRIERS:-verbs tcp}
RESULTS=$FABRIC/lnd_test/results

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

load() { # load CARRIER: for as long as it takes, with its comparison
	if [ "$ROLE" = client ]; then _nids="nid=2 peer_nid=1"; else
		_nids="nid=1 peer_nid=2"
	fi
	# shellcheck disable=SC2086 # two words
	modprobe kfabric_lnd_test prov="rdm;$1" node="$(own_ip)" \
		peer_node="$(peer_ip)" $_nids seconds="$SECONDS_EACH"
}

cut_once() { # cut_once SECONDS
	ip link set eth0 down || return
	_status=0
	! peer_has up || _status=1
	sleep "$1"
	ip link set eth0 up && return $_status
}

cut_often() { # short ones, those that a time-out notices, and longer ones
	_every=$((SECONDS_EACH / (CUTS + 1)))
	for cut in $(seq "$CUTS"); do
		sleep $_every
		check "cut $cut: nothing passes" cut_once $((1 + cut * 7 % 15))
	done
}

run_over() { # run_over CARRIER
	load "$1" &
	_load=$!
	[ "$ROLE" != client ] || cut_often
	check "$1: the load ends" wait $_load
	ktap $RESULTS
	[ "$ROLE" != client ] || check "$1: the cuts were noticed" \
		grep -q 'unsent [1-9]' $RESULTS
	check "$1: both have compared" meet "$1-compared" $LONG_S
	check "$1: the test unloads" rmmod kfabric_lnd_test
	check "$1: no object is left open" wait_for 30 fabric_idle
	check "$1: both are done" meet "$1-done" $LONG_S
}

check "the wire is up" net_setup || exit
check "it is the port of a bridge" bridge_setup || exit
check "soft RoCE starts" rxe_setup rxe0 bridge0 || exit
check "the modules load" modprobe -a kfabric_verbs kfabric_tcp kfabric_rdm \
	kfabric_lnd || exit
check "the guests meet" meet up $LONG_S || exit
for carrier in $CARRIERS; do
	run_over "$carrier"
done
check "the driver unloads" rmmod kfabric_lnd
check "the guests part" meet bye $LONG_S
