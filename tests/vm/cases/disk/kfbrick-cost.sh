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
NVMET=/sys/kernel/config/nvmet

cpu_ticks() { # cpu_ticks PROCESS: its own user and system time
	awk '{ sub(/.*[)] /, ""); print $12, $13 }' "/proc/$1/stat"
}

measure() { # measure NAME DEVICE: one turn; a line of results
	# what the turn before has written is no part of the first flush
	dd if=/dev/zero of="$2" bs=4k count=1 oflag=direct conv=notrunc,fsync \
		2>/dev/null
	_w=$(fio_value "$2" write --ioengine=psync --rw=randwrite)
	_s=$(fio_value "$2" sync --ioengine=psync --rw=randwrite --fsync=1)
	_ws=$(($(fio_says write) + _s))
	_r=$(fio_value "$2" read --ioengine=psync --rw=randread)
	_q=$(fio_value "$2" write:iops --ioengine=libaio --iodepth=16 \
		--rw=randwrite)
	_qr=$(fio_value "$2" read:iops --ioengine=libaio --iodepth=16 \
		--rw=randread)
	_bw=$(fio_value "$2" write:bw --ioengine=libaio --iodepth=4 --bs=1m \
		--size=64m --io_size=64m --rw=write)
	echo "$1 $_w $_ws $_r $_q $_qr $_bw" >>/tmp/results
	diag "$(tail -1 /tmp/results)"
}

nvmet_export() { # nvmet_export TRANSPORT PORT ID: a subsystem of its own
	modprobe nvmet && modprobe "nvmet-$1" || return
	grep -q configfs /proc/mounts ||
		mount -t configfs none /sys/kernel/config
	_s=$NVMET/subsystems/$1
	mkdir "$_s" && echo 1 >"$_s/attr_allow_any_host" &&
		mkdir "$_s/namespaces/1" &&
		printf /dev/pmem1 >"$_s/namespaces/1/device_path" &&
		echo 1 >"$_s/namespaces/1/enable" || return
	_p=$NVMET/ports/$3
	mkdir "$_p" && echo "$1" >"$_p/addr_trtype" &&
		echo ipv4 >"$_p/addr_adrfam" &&
		echo "$LOCAL_IP" >"$_p/addr_traddr" &&
		echo "$2" >"$_p/addr_trsvcid" &&
		ln -s "$_s" "$_p/subsystems/$1"
}

nvme_disk() { # nvme_disk ID: the ID-th that there is
	set -- "$1" /dev/nvme[0-9]n[0-9]
	shift "$1" && [ -b "$1" ] && echo "$1"
}

nvme_attach() { # nvme_attach TRANSPORT PORT ID
	nvmet_export "$1" "$2" "$3" && modprobe "nvme-$1" || return
	echo "transport=$1,traddr=$LOCAL_IP,trsvcid=$2,nqn=$1,nr_io_queues=1" \
		>/dev/nvme-fabrics || return
	wait_for 20 nvme_disk "$3"
}

nvme_end() {
	for _c in /sys/class/nvme/nvme*; do
		echo 1 >"$_c/delete_controller"
	done
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
check "it is there by NVMe over RDMA" nvme_attach rdma 4420 1 || exit
check "and over TCP" nvme_attach tcp 4421 2 || exit
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
