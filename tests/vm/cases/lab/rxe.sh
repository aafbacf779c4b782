# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Soft RoCE inside one guest: a device on dummy0, verbs and rdma_cm over it.
# NEEDS: rdma
# GROUP: small
# MEM: 1G
# TIMEOUT: 60

check "soft RoCE starts on dummy0" rxe_setup || exit
check "the device carries 4096 bytes a packet" \
	sh -c 'ibv_devinfo -d rxe0 | grep -q "active_mtu:.*4096"'

ibv_rc_pingpong -d rxe0 -g 1 -n 100 >/tmp/pong 2>&1 &
server=$!
check "the ping-pong server listens" \
	wait_for 10 sh -c 'netstat -ltn | grep -q :18515'
check "a reliable connection plays ping-pong" \
	ibv_rc_pingpong -d rxe0 -g 1 -n 100 127.0.0.1
check "the ping-pong server ends well" wait $server

rping -s -a "$LOCAL_IP" -C 20 >/tmp/rping 2>&1 &
server=$!
check "rdma_cm connects and moves data both ways" \
	wait_for 20 rping -c -a "$LOCAL_IP" -C 20
check "the rping server ends well" wait $server
