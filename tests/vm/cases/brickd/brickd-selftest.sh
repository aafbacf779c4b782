# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# brickd's start over soft RoCE: the self-test on each device, what it refuses.
# NEEDS: rdma
# BIN: brickd brickctl selftest-fabric
# GROUP: brickd
# MEM: 2G
# TIMEOUT: 400

OTHER_IP=192.168.78.1
export IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1

tests_both() { # tests_both ADDRESS: both devices are tested by it
	selftest-fabric "$1" >/tmp/tested || return
	grep -qx 'tested rxe0' /tmp/tested && grep -qx 'tested rxe1' /tmp/tested
}

serve_at() { # serve_at ADDRESS: on the default port
	brick_run --config /tmp/conf --listen "$1"
}

ask() { # ask HOST: brickctl's answer from brickd at this address
	brickctl --brick "verbs://$1" --client a --key-file /tmp/key info
}

check "soft RoCE starts on dummy0" rxe_setup || exit
check "a key is accepted as it must be, the others are refused" \
	selftest-fabric "verbs://$LOCAL_IP"
check "with the registration cache the self-test fails" \
	says "a key is good after its registration is closed" \
	selftest-fabric "verbs://$LOCAL_IP" cached

ip link add dummy1 type dummy
ip link set dummy1 mtu "$MTU" up
ip addr add $OTHER_IP/24 dev dummy1
rdma link add rxe1 type rxe netdev dummy1
check "a second device starts" wait_for 10 rxe_active rxe1 || exit
check "a wildcard address is tested on both devices" tests_both verbs://0.0.0.0
check "and when the system chooses the port" tests_both verbs://0.0.0.0:0
check "with the cache a wildcard fails, too" \
	says "a key is good after its registration is closed" \
	selftest-fabric verbs://0.0.0.0 cached
ip addr add fd00::1/64 dev dummy0
ip addr add fd01::1/64 dev dummy1
check "the IPv6 wildcard is tested on both devices" tests_both 'verbs://[::]'

brickctl keygen /tmp/key
brickd format /tmp/store --size 64M >/dev/null
printf '[brick]\nstore = /tmp/store\n[client a]\nkey-file = /tmp/key\n' \
	>/tmp/conf
echo 'grant = 0x0+1T rw' >>/tmp/conf

export FI_MR_CACHE_MAX_COUNT=1024
check "brickd switches a cache off that the environment asks for" \
	serve_at "verbs://$LOCAL_IP"
check "it serves" ask $LOCAL_IP
check "it stops" brick_stop
unset FI_MR_CACHE_MAX_COUNT

ip link add dummy2 type dummy
ip link set dummy2 mtu "$MTU" up
rdma link add rxe2 type rxe netdev dummy2
check "a third device starts that has no address" wait_for 10 rxe_active rxe2
check "brickd serves on a wildcard address" serve_at verbs://0.0.0.0
check "over the first device" ask $LOCAL_IP
check "over the second device" ask $OTHER_IP
check "brickd says which device it does not serve" \
	grep -q 'not serving over rxe2' /tmp/brick.log
ip addr add 192.168.79.1/24 dev dummy2
check "an address that came later makes no difference" \
	says "does not support" ask 192.168.79.1
check "brickd says why" grep -q 'rxe2 has not passed' /tmp/brick.log
check "it stops" brick_stop
