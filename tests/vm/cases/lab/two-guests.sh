# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Two guests on one wire: soft RoCE on eth0 of each, rping between them.
# NEEDS: rdma
# GUESTS: 2
# SMP: 1
# TIMEOUT: 90

check "the wire is up" net_setup || exit
check "soft RoCE starts on eth0" rxe_setup rxe0 eth0 || exit
check "the guests meet" meet up 60 || exit

if [ "$ROLE" = server ]; then
	rping -s -a "$SERVER_IP" -C 20 >/tmp/rping 2>&1 &
	server=$!
	announce listening
	check "the server serves its client" wait $server
else
	wait_peer listening 30
	check "the client moves data over the wire" \
		wait_for 20 rping -c -a "$SERVER_IP" -C 20
fi
check "the guests part" meet bye 60
