# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What 9P costs over kfabric beside the kernel's own transports, to one server: run it
# with --icount, which counts instructions.
# NEEDS: rdma fio 9p
# KO: kfabric_core kfabric_verbs kfabric_tcp kfabric_9p
# BIN: kfabric-9p-bridge
# MEM: 1G
# MANUAL: yes
# MEASURES: yes
# TIMEOUT: 3000

ROUNDS=${K9P_ROUNDS:-3}
WAYS="kfabric-verbs kfabric-tcp rdma tcp"

options_of() { # options_of WAY
	case $1 in
	kfabric-verbs) echo trans=kfabric,prov=verbs,port=5640 ;;
	kfabric-tcp) echo trans=kfabric,prov=tcp,port=5641 ;;
	rdma) echo trans=rdma,port=5642,rq=16,sq=16 ;;
	tcp) echo trans=tcp,port=$SERVER_PORT ;;
	esac
}

one_job() { # one_job RW BYTES MIB: nanoseconds of an operation, and MiB/s
	fio --name=job --filename=$MOUNT/file --rw="$1" --bs="$2" --size="$3M" \
		--ioengine=psync --minimal --terse-version=3 >/tmp/fio.out 2>&1 || return
	awk -F';' -v rw="$1" '{ w = rw ~ /write/; us = w ? $81 : $40; kb = w ? $48 : $7
		printf "%d %d\n", us * 1000, kb / 1024 }' /tmp/fio.out
}

turn() { # turn WAY: a line of figures
	mount_9p "$LOCAL_IP" "$(options_of "$1"),msize=65536" || return
	_w4=$(one_job write 4k 2 | cut -d' ' -f1) _r4=$(one_job read 4k 2 | cut -d' ' -f1)
	_w1=$(one_job write 1M 16 | cut -d' ' -f2) _r1=$(one_job read 1M 16 | cut -d' ' -f2)
	umount $MOUNT
	echo "$1 $_w4 $_r4 $_w1 $_r1" >>/tmp/figures
	diag "$1 $_w4 $_r4 $_w1 $_r1"
	[ -n "$_w4" ] && [ -n "$_r1" ]
}

column() { # column WAY NUMBER: min / median / max
	awk -v w="$1" -v n="$2" '$1 == w { print $n }' /tmp/figures | sort -n |
		awk '{ v[NR] = $1 } END { print v[1] " / " v[int((NR + 1) / 2)] " / " v[NR] }'
}

check "soft RoCE starts" rxe_setup || exit
check "the modules load" modprobe -a kfabric_verbs kfabric_tcp 9p 9pnet_rdma || exit
check "the server serves" serve_9p || exit
check "a bridge for verbs" bridge_at verbs "$LOCAL_IP" 5640
check "a bridge for tcp" bridge_at stcp "$LOCAL_IP" 5641
check "a bridge for trans=rdma" bridge_at verbs "$LOCAL_IP" 5642 --rdma
: >/tmp/figures
for round in $(seq "$ROUNDS"); do
	for way in $WAYS; do
		check "round $round: $way" turn "$way"
	done
done
diag "| | 4 KiB write, ns | 4 KiB read, ns | 1 MiB writes, MiB/s | 1 MiB reads, MiB/s |"
for way in $WAYS; do
	diag "| $way | $(column "$way" 2) | $(column "$way" 3) | $(column "$way" 4) | $(column "$way" 5) |"
done
