# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What a 4 KiB write, write and flush, and read cost beside others. Times of a
# free-running guest compare within one boot only: run it with --icount.
# NEEDS: rdma nvdimm nvme fio libfabric
# KO: kfabric_core kfabric_verbs kfbrick kfi_latency
# BIN: brickd brickctl ofi_peer
# NVDIMM: 160M persist=mem-ctrl
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# MANUAL: yes
# TIMEOUT: 3000

OPS_MIB=${KFB_COST_MIB:-8} # 256 operations each
NVMET=/sys/kernel/config/nvmet

fio_ns() { # fio_ns DEVICE WHICH OPTION...: mean of a latency, ns
	_device=$1 _which=$2
	shift 2
	fio --name=j --filename="$_device" --direct=1 --bs=4k \
		--size="${OPS_MIB}m" --io_size="${OPS_MIB}m" --randseed=7 \
		--allrandrepeat=1 --eta=never --lat_percentiles=1 \
		--clat_percentiles=0 "$@" --output-format=json \
		--output=/tmp/fio.json || return
	awk -v which="$_which" '
		/"(read|write|trim|sync)" : [{]/ { m = $1; gsub("\"", "", m) }
		/"lat_ns" : [{]/ { l = 1 }
		/"(clat_ns|slat_ns)" : [{]/ { l = 0 }
		l && /"mean" :/ { gsub(",", "", $3); mean[m] = $3; l = 0 }
		/"iops" :/ { gsub(",", "", $3); iops[m] = $3 }
		/"bw" :/ { gsub(",", "", $3); bw[m] = $3 }
		END {
			split(which, w, ":")
			v = w[2] == "iops" ? iops[w[1]] :
				w[2] == "bw" ? bw[w[1]] : mean[w[1]]
			printf "%.0f", v
		}' /tmp/fio.json
}

measure() { # measure NAME DEVICE
	_w=$(fio_ns "$2" write --ioengine=psync --rw=randwrite)
	_ws=$(fio_ns "$2" write --ioengine=psync --rw=randwrite --fsync=1)
	_s=$(fio_ns "$2" sync --ioengine=psync --rw=randwrite --fsync=1)
	_r=$(fio_ns "$2" read --ioengine=psync --rw=randread)
	_q=$(fio_ns "$2" write:iops --ioengine=libaio --iodepth=16 \
		--rw=randwrite)
	_qr=$(fio_ns "$2" read:iops --ioengine=libaio --iodepth=16 \
		--rw=randread)
	_bw=$(fio_ns "$2" write:bw --ioengine=libaio --iodepth=4 --bs=1m \
		--size=64m --io_size=64m --rw=write)
	diag "$(printf '%-22s write %7d  write+fsync %7d  read %7d ns;' \
		"$1" "$_w" $((_ws + _s)) "$_r")" \
		"QD16 write $_q read $_qr IOPS; 1 MiB $((_bw / 1024)) MiB/s"
	tap ok "$1 is measured"
}

nvmet_export() { # nvmet_export TRANSPORT PORT ID
	modprobe nvmet && modprobe "nvmet-$1" || return
	grep -q configfs /proc/mounts ||
		mount -t configfs none /sys/kernel/config
	_s=$NVMET/subsystems/t
	[ -d $_s ] || {
		mkdir $_s && echo 1 >$_s/attr_allow_any_host
		mkdir $_s/namespaces/1
		printf /dev/pmem1 >$_s/namespaces/1/device_path
		echo 1 >$_s/namespaces/1/enable
	}
	_p=$NVMET/ports/$3
	mkdir "$_p" && echo "$1" >"$_p/addr_trtype" &&
		echo ipv4 >"$_p/addr_adrfam" &&
		echo "$LOCAL_IP" >"$_p/addr_traddr" &&
		echo "$2" >"$_p/addr_trsvcid" &&
		ln -s $_s "$_p/subsystems/t"
}

nvme_disk() {
	for _d in /dev/nvme[0-9]n[0-9]; do
		[ -b "$_d" ] && echo "$_d" && return
	done
	return 1
}

nvme_measure() { # nvme_measure TRANSPORT PORT ID
	nvmet_export "$1" "$2" "$3" && modprobe "nvme-$1" || return
	echo "transport=$1,traddr=$LOCAL_IP,trsvcid=$2,nqn=t,nr_io_queues=1" \
		>/dev/nvme-fabrics || return
	wait_for 20 nvme_disk || return
	measure "nvme-$1" "$(nvme_disk)"
	for _c in /sys/class/nvme/nvme*; do
		echo 1 >"$_c/delete_controller"
	done
}

brick_measure() { # brick_measure MODE SETTING...
	_mode=$1
	shift
	disk_setup "$@"
	check "a disk is attached" attach_disk --size 64 --queues 1 || return
	check "it flushes by $_mode" test "$(cat "$CTL/flush_mode")" = "$_mode"
	measure "kfbrick-$_mode" "$DISK"
	check "it is detached" detach_disk
	disk_end
}

raw_measure() { # a write with a readback behind it, by plain verbs
	for _port in 7471 7472; do
		ofi_peer server "$LOCAL_IP" $_port >/tmp/peer.$_port &
		wait_for 20 grep -q listening /tmp/peer.$_port || return
	done
	echo "# raw begins" >/dev/kmsg
	modprobe kfi_latency node="$LOCAL_IP" service=7471,7472 || return
	diag "$(dmesg_since "# raw begins" | grep -i 'ns\|median' | cut -c1-110)"
	killall ofi_peer
}

rxe_setup || bail "soft RoCE starts"
raw_measure || diag "plain verbs were not measured"
brick_measure readback "persistence = assume-readback"
brick_measure message
check "the other NVDIMM is a disk" wait_for 10 test -b /dev/pmem1
measure local-pmem /dev/pmem1
nvme_measure rdma 4420 1
nvme_measure tcp 4421 2
