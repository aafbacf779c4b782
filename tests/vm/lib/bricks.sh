# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Several bricks in the guest, each on a devdax of its own and with one disk.
# What disk.sh offers is about the one that was named last: brick N.

BRICK_PORT=20150
BRICKS_IP=$LOCAL_IP # where they are

brick() { # brick N: the one that is meant from here on, from 0
	BRICK_N=$1
	# shellcheck disable=SC2034 # of disk.sh
	BRICK_CONF=/tmp/brick$1.conf
	BRICK_LOG=/tmp/brick$1.log
	BRICK_IP=$BRICKS_IP:$((BRICK_PORT + $1))
	BRICKD=$(cat "/tmp/brick$1.pid" 2>/dev/null)
	DISK=$(cat "/tmp/brick$1.disk" 2>/dev/null)
	# shellcheck disable=SC2034 # of disk.sh
	CTL=/sys/block/${DISK#/dev/}/kfbrick
}

serve_it() {
	serve_brick && echo "$BRICKD" >"/tmp/brick$BRICK_N.pid"
}

attach_it() { # attach_it OPTION...
	attach_disk "$@" && echo "$DISK" >"/tmp/brick$BRICK_N.disk"
}

bricks_setup() { # bricks_setup N [SETTING...]: and the driver
	_n=$1
	shift
	rxe_setup || bail "soft RoCE starts on dummy0"
	make_key
	for _i in $(seq 0 $((_n - 1))); do
		dax=$(devdax_setup "$_i") || bail "devdax $_i can be made"
		brick "$_i"
		configure_brick "$dax" "$BRICK_IP" "$@"
		brickd format "$dax" --force || bail "devdax $_i is formatted"
		serve_it || bail "a brickd serves it: $(tail -3 $BRICK_LOG)"
	done
	modprobe kfabric_verbs && modprobe kfbrick || bail "the driver loads"
}

bricks_end() { # bricks_end N: nothing is left of bricks_setup
	check "the driver unloads" rmmod kfbrick
	check "no object is left open" wait_for 30 fabric_idle
	for _i in $(seq 0 $(($1 - 1))); do
		brick "$_i"
		check "brick $_i stops" stop_brick
	done
}

# --- LVM on these disks, without a daemon that tells of devices and makes their nodes

lvm_here() { # lvm_here COMMAND...; LVM_GLOBAL is added to what holds for all commands
	DM_DISABLE_UDEV=1 lvm "$@" --config 'activation { udev_sync = 0 udev_rules = 0 }
		devices { use_devicesfile = 0 obtain_device_list_from_udev = 0
			external_device_info_source = "none"
			types = [ "kfbrick", 16 ] }
		backup { backup = 0 archive = 0 }
		global { event_activation = 0 '"$LVM_GLOBAL"' }'
}

lvm_setup() {
	modprobe dm-mod && mkdir -p /run/lvm /run/lock/lvm /etc/lvm
}
