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

# exercised OPERATIONS SEED [mapped]: on the mount, and looked at where it is kept
exercised() {
	exercise $MOUNT/exercised "$@" >/tmp/sum || return
	echo "$(cat /tmp/sum)  $EXPORT/exercised" | sha256sum -c
}

# --- a bridge that means the kernel no good (tests/vm/target/ninep_hostile.py)

HOSTILE=/vm/files/ninep_hostile.py
HOSTILE_PORT=5700 # the honest one; those that connect wrongly follow
ASKED=/tmp/asked # what the bridge has been asked
SOON_S=$((30 * TIMEOUT_FACTOR))

HOSTILE_OPTIONS=version=9p2000.L,uname=root,aname=/,trans=kfabric,prov=tcp,msize=65536

hostile_mount() { # hostile_mount PORT [OPTION]
	timeout -s KILL $SOON_S mount -t 9p -o "$HOSTILE_OPTIONS,port=$1${2:+,$2}" 127.0.0.1 $MOUNT
}

looks_up() { # looks_up NAME: to whatever end, but to an end
	timeout -s KILL $SOON_S stat "$MOUNT/$1" >/tmp/looked 2>&1
	_status=$?
	cat /tmp/looked
	[ $_status != 137 ]
}

serves() { # an answer for a name that is honest, in time
	timeout -s KILL $SOON_S stat $MOUNT/good >/tmp/served 2>&1
}

goes() { # it is unmounted, and nobody is waited for
	timeout -s KILL $SOON_S umount $MOUNT
}

begins() { # begins NAME: somebody waits for an answer about it
	: >$ASKED
	stat "$MOUNT/$1" >/dev/null 2>&1 &
	# shellcheck disable=SC2034 # it is the case's to wait for
	LOOKER=$!
	wait_for 20 grep -q "asked $1" $ASKED
}

hostile_setup() {
	mkdir -p $MOUNT
	check "the loop-back device is up" ip link set lo up
	check "the modules load" modprobe -a kfabric_tcp 9p || return 1
	python3 $HOSTILE $HOSTILE_PORT >$ASKED 2>/tmp/hostile.log &
	check "the bridge listens" wait_for 60 grep -q listening $ASKED || {
		diag "$(cat /tmp/hostile.log)"
		return 1
	}
}

hostile_end() {
	check "the transport unloads" wait_for 30 rmmod kfabric_9p
	check "no object is left open" wait_for 10 fabric_idle
	check "the provider unloads" rmmod kfabric_tcp
}
