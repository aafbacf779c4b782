# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What a 4 KiB write, write and flush, and read cost beside others. Times of a
# free-running guest compare within one boot only: run it with --icount, too.
# With CARRIER=tcp the disk is there by TCP.
# NEEDS: rdma nvdimm nvme fio libfabric
# KO: kfabric_core kfabric_verbs kfabric_tcp kfbrick kfi_latency
# BIN: brickd brickctl ofi_peer verbs-client
# MODULES: null_blk
# NVDIMM: 160M persist=mem-ctrl
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# MANUAL: yes
# MEASURES: yes
# TIMEOUT: 3000

# Everything that flushes by itself is there at the same time and has its turn
# in each round; a disk that flushes by message needs another brick and comes
# after them. A turn is some fio jobs, of which the mean counts; the table has
# min, median and max of the rounds.

ROUNDS=${KFB_COST_ROUNDS:-3}
export OPS_MIB=${KFB_COST_MIB:-8} # 256 operations each

cpu_ticks() { # cpu_ticks PROCESS: its own user and system time
	awk '{ sub(/.*[)] /, ""); print $12, $13 }' "/proc/$1/stat"
}

# brick_turns MODE TURN: the disk's turns, with TURN after each of them
brick_turns() {
	check "a disk is attached" attach_disk --size 64 --queues 1 || return
	check "it flushes by $1" test "$(cat "$CTL/flush_mode")" = "$1"
	: >/tmp/ticks
	for _round in $(seq "$ROUNDS"); do
		_before=$(cpu_ticks "$BRICKD")
		measure "kfbrick-$1" "$DISK"
		echo "$_before $(cpu_ticks "$BRICKD")" >>/tmp/ticks
		$2
	done
	tap ok "kfbrick-$1 is measured"
	diag "$(awk '{ u += $3 - $1; s += $4 - $2 }
		END { print "brickd: ticks of its own meanwhile: user", u,
			"system", s }' /tmp/ticks)"
	check "it is detached" detach_disk
	disk_end
}

others() {
	measure nvme-rdma "$(nvme_disk 1)"
	measure nvme-tcp "$(nvme_disk 2)"
	measure local-pmem /dev/pmem1
	measure null /dev/nullb0
}

null_disk() { # what fio and the block layer cost with no driver at all
	modprobe null_blk queue_mode=2 irqmode=0 submit_queues=1 gb=1 &&
		echo none >/sys/block/nullb0/queue/scheduler
}

raw_measure() { # writes and readbacks by plain verbs
	for _port in 7471 7472 7473; do
		ofi_peer server "$LOCAL_IP" $_port >/tmp/peer.$_port &
		wait_for 20 grep -q listening /tmp/peer.$_port || return
	done
	echo "# raw begins" >/dev/kmsg
	modprobe kfi_latency node="$LOCAL_IP" service=7471,7472 || return
	diag "$(dmesg_since "# raw begins" | grep ' ns: ' | sed 's/.*# //')"
	verbs-client "$LOCAL_IP" 7473 >/tmp/verbs.out 2>&1
	_status=$?
	diag "$(cat /tmp/verbs.out)"
	killall ofi_peer
	return $_status
}

rxe_setup || bail "soft RoCE starts"
if [ "$CARRIER" = verbs ]; then
	check "plain verbs are measured" raw_measure
	cat /tmp/check.out
	disk_setup "persistence = assume-readback"
else
	disk_setup
fi
check "a disk that does nothing is there" null_disk
check "the other NVDIMM is a disk" wait_for 10 test -b /dev/pmem1
check "it is there by NVMe over RDMA" nvme_attach rdma "$LOCAL_IP" 4420 1 || exit
check "and over TCP" nvme_attach tcp "$LOCAL_IP" 4421 2 || exit
if [ "$CARRIER" = verbs ]; then
	brick_turns readback others
	nvme_end
	disk_setup
	brick_turns message true
else
	brick_turns "${KFB_COST_FLUSH:-message}" others
fi
table "write, ns" "write + fsync, ns" "read, ns" "QD16 write, IOPS" \
	"QD16 read, IOPS" "1 MiB writes, MiB/s"
