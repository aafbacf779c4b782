# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Disks by NVMe over a fabric, to measure beside: /dev/pmem1 is what they are on.

NVMET=/sys/kernel/config/nvmet

# nvmet_export TRANSPORT ADDRESS PORT ID: a subsystem of its own. Its port is in
# the network namespace of the words $THERE.
nvmet_export() {
	modprobe nvmet && modprobe "nvmet-$1" || return
	grep -q configfs /proc/mounts ||
		mount -t configfs none /sys/kernel/config
	_s=$NVMET/subsystems/disk$4
	mkdir "$_s" && echo 1 >"$_s/attr_allow_any_host" &&
		mkdir "$_s/namespaces/1" &&
		printf /dev/pmem1 >"$_s/namespaces/1/device_path" &&
		echo 1 >"$_s/namespaces/1/enable" || return
	_p=$NVMET/ports/$4
	mkdir "$_p" && echo "$1" >"$_p/addr_trtype" &&
		echo ipv4 >"$_p/addr_adrfam" &&
		echo "$2" >"$_p/addr_traddr" &&
		echo "$3" >"$_p/addr_trsvcid" &&
		$THERE ln -s "$_s" "$_p/subsystems/disk$4"
}

nvme_disk() { # nvme_disk ID: the ID-th that there is
	set -- "$1" /dev/nvme[0-9]n[0-9]
	shift "$1" && [ -b "$1" ] && echo "$1"
}

nvme_attach() { # nvme_attach TRANSPORT ADDRESS PORT ID
	nvmet_export "$@" && modprobe "nvme-$1" || return
	echo "transport=$1,traddr=$2,trsvcid=$3,nqn=disk$4,nr_io_queues=1" \
		>/dev/nvme-fabrics || return
	wait_for 20 nvme_disk "$4"
}

nvme_end() {
	for _c in /sys/class/nvme/nvme*; do
		echo 1 >"$_c/delete_controller"
	done
}
