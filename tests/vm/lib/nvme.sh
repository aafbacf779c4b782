# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Disks by NVMe over a fabric, to measure beside, and their targets.

NVMET=/sys/kernel/config/nvmet

nvmet_subsystem() { # nvmet_subsystem NAME DEVICE
	modprobe nvmet || return
	grep -q configfs /proc/mounts ||
		mount -t configfs none /sys/kernel/config
	_s=$NVMET/subsystems/$1
	mkdir "$_s" && echo 1 >"$_s/attr_allow_any_host" &&
		mkdir "$_s/namespaces/1" &&
		printf %s "$2" >"$_s/namespaces/1/device_path" &&
		echo 1 >"$_s/namespaces/1/enable"
}

# nvmet_port ID TRANSPORT ADDRESS PORT SUBSYSTEM: where that is served. It is in the
# network namespace of the words $THERE.
nvmet_port() {
	modprobe "nvmet-$2" || return
	_p=$NVMET/ports/$1
	mkdir "$_p" && echo "$2" >"$_p/addr_trtype" &&
		echo ipv4 >"$_p/addr_adrfam" &&
		echo "$3" >"$_p/addr_traddr" &&
		echo "$4" >"$_p/addr_trsvcid" &&
		$THERE ln -s "$NVMET/subsystems/$5" "$_p/subsystems/$5"
}

nvme_connect() { # nvme_connect TRANSPORT ADDRESS PORT SUBSYSTEM[,OPTION...]
	modprobe "nvme-$1" &&
		echo "transport=$1,traddr=$2,trsvcid=$3,nqn=$4" \
			>/dev/nvme-fabrics
}

nvme_disk() { # nvme_disk ID: the ID-th that there is
	set -- "$1" /dev/nvme[0-9]n[0-9]
	shift "$1" && [ -b "$1" ] && echo "$1"
}

# nvme_attach TRANSPORT ADDRESS PORT ID: /dev/pmem1, as a subsystem of its own
nvme_attach() {
	nvmet_subsystem "disk$4" /dev/pmem1 &&
		nvmet_port "$4" "$1" "$2" "$3" "disk$4" &&
		nvme_connect "$1" "$2" "$3" "disk$4,nr_io_queues=1" &&
		wait_for 20 nvme_disk "$4"
}

nvme_end() {
	for _c in /sys/class/nvme/nvme*; do
		echo 1 >"$_c/delete_controller"
	done
}
