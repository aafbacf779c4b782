# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A 9P server with sockets alone, kfabric's bridge to it, and mounts by way of that.

EXPORT=/tmp/export
SERVER_PORT=5650 # of the 9P server, within its host
MOUNT=/mnt/9p

listens() { # listens PORT: somebody does, over IPv4
	grep -qi ":$(printf %04x "$1") 00000000:0000 0A" /proc/net/tcp
}

serve_9p() { # the distribution's server, as it is
	mkdir -p $EXPORT
	ip link set lo up
	diod -f -n -N -c /dev/null -e $EXPORT -l 0.0.0.0:$SERVER_PORT -L stderr \
		>>/tmp/diod.log 2>&1 &
	DIOD=$!
	wait_for 20 listens $SERVER_PORT
}

stop_9p() {
	kill "$DIOD" && wait "$DIOD"
	true
}

# bridge_at PROVIDER ADDRESS PORT [OPTION...]: one more, until the case ends
bridge_at() {
	_provider=$1 _address=$2 _port=$3
	shift 3
	_log=/tmp/bridge.$_port
	: >"$_log"
	kfabric-9p-bridge -p "$_provider" "$@" "$_address" "$_port" \
		127.0.0.1:$SERVER_PORT >"$_log" 2>&1 &
	wait_for 20 grep -q "^listening" "$_log"
}

mount_9p() { # mount_9p ADDRESS OPTIONS: below $MOUNT, to what is exported
	mkdir -p $MOUNT
	mount -t 9p -o "aname=$EXPORT,version=9p2000.L,uname=root,$2" "$1" $MOUNT
}

# exercise FOLDER OPERATIONS SEED [mapped]: prints the sum that FOLDER/exercised has
exercise() {
	_folder=$1
	shift
	python3 /vm/files/exercise_file.py "$_folder/exercised" "$@"
}

# exercised OPERATIONS SEED [mapped]: on the mount, and looked at where it is kept
exercised() {
	exercise $MOUNT "$@" >/tmp/sum || return
	echo "$(cat /tmp/sum)  $EXPORT/exercised" | sha256sum -c
}
