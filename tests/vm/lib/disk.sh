# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A brick in the guest, and disks that are attached to it.
#
# SLOW is the file that is the slow tier of the next brick; unset: it has none.
# DISK is the disk that attach_disk made last, CTL its attributes. CARRIER is how
# brick and driver talk: verbs over soft RoCE, or tcp over the loop-back device;
# libfabric-tcp is tcp with libfabric's own provider at the brick. PROVIDER is the
# kernel's name of it.

use_carrier() { # use_carrier CARRIER: of the brick and the disks from now on
	CARRIER=$1
	PROVIDER=${CARRIER#libfabric-}
}

use_carrier "${CARRIER:-verbs}"
OPEN_WIRE=yes # no: of tcp, which then leaves the guest by tunnels alone
KEY=/tmp/key
BRICK_LOG=/tmp/brick.log
BRICK_CONF=/tmp/brick.conf

goes_open() {
	[ "$PROVIDER" = tcp ] && [ $OPEN_WIRE = yes ]
}

make_key() { # the same in both guests of a pair: they share no file
	printf '%064d\n' 12345678 >$KEY && chmod 600 $KEY
}

configure_brick() { # configure_brick STORE ADDRESS [SETTING...]
	_store=$1 _address=$2
	shift 2
	{
		echo "[brick]"
		echo "store = $_store"
		echo "listen = $CARRIER://$_address"
		! goes_open || echo "allow-untrusted-tcp = yes"
		for _setting; do
			echo "$_setting"
		done
		echo "[client a]"
		echo "key-file = $KEY"
		echo "grant = 0x0+1T rw"
		echo "[client reader]"
		echo "key-file = $KEY"
		echo "grant = 0x0+1T ro"
		echo "[client other]"
		echo "key-file = $KEY"
		echo "grant = 0x0+1T rw"
		echo "[client small]"
		echo "key-file = $KEY"
		echo "grant = 0x0+1T rw"
		echo "quota = 2"
	} >$BRICK_CONF
}

serve_brick() { # by $BRICK_CONF; BRICKD is its process
	rm -f /tmp/ready
	IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1 \
		"${BRICK_PROGRAM:-brickd}" --config $BRICK_CONF --ready-fd 3 \
		3>/tmp/ready >>$BRICK_LOG 2>&1 &
	BRICKD=$!
	wait_for "${LONG_S:-100}" has_begun && [ -s /tmp/ready ]
}

has_begun() { # the brick serves, or never will
	[ -s /tmp/ready ] || is_over "$BRICKD"
}

stop_brick() {
	kill "$BRICKD" && wait "$BRICKD"
}

# restart_brick PROGRAM SETTING...: on the same store; PROGRAM is brickd, or one
# of tests/func that is like it.
restart_brick() {
	BRICK_PROGRAM=$1
	shift
	stop_brick
	configure_brick "$dax" "$BRICK_IP" "$@"
	serve_brick
}

brick_did() { # brick_did refuse|hold map|unmap|flush: brickd-refusing
	grep -q "^$1: $2" $BRICK_LOG
}

kill_brick() {
	kill -KILL "$BRICKD"
	wait "$BRICKD" 2>/dev/null
	true
}

brickctl_as() { # brickctl_as CLIENT SECONDS ARGUMENT...
	_client=$1 _seconds=$2
	shift 2
	! goes_open || set -- --allow-untrusted-tcp "$@"
	IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1 brickctl --timeout "$_seconds" \
		--brick "$CARRIER://$BRICK_IP" --client "$_client" \
		--key-file $KEY "$@"
}

ctl() {
	brickctl_as a 60 "$@"
}

other() {
	brickctl_as other 60 "$@"
}

listed() { # listed [mine]: so many blocks the brick has of ours, or has mapped
	ctl list "$@" | awk '/^0x/ { n += $2 } END { print n + 0 }'
}

allocated() { # allocated N: the brick has so many blocks of ours
	_n=$(listed)
	echo "$_n allocated, wanted $1"
	[ "$_n" -eq "$1" ]
}

mapped_is() { # mapped_is N: so many, by the disk and by the brick
	_n=$(listed mine)
	echo "brick: $_n, disk: $(cached mapped), wanted $1"
	[ "$_n" -eq "$1" ] && [ "$(cached mapped)" -eq "$1" ]
}

attach_disk() { # attach_disk OPTION...: of brickctl attach
	DISK=$(ctl attach "$@" 2>"${ATTACH_ERR:-/tmp/attach.err}") || {
		cat "${ATTACH_ERR:-/tmp/attach.err}"
		tail -5 $BRICK_LOG
		return 1
	}
	CTL=/sys/block/${DISK#/dev/}/kfbrick
	wait_for 10 test -b "$DISK"
}

detach_disk() { # detach_disk [DISK]
	brickctl detach "${1:-$DISK}"
}

state_is() { # state_is STATE: of the disk
	read -r _state <"$CTL/state" && [ "$_state" = "$1" ]
}

retained() { # retained NAME: of the disk's copies of writes
	tr ' ' '\n' <"$CTL/retain" | sed -n "s/^$1=//p"
}

cached() { # cached NAME: of the disk's mappings on demand
	tr ' ' '\n' <"$CTL/map_cache" | sed -n "s/^$1=//p"
}

counter() { # counter NAME: of operations, over all queues of the disk
	awk -v name="$1" '{ for (i = 1; i <= NF; i++) {
			split($i, kv, "="); if (kv[1] == name) n += kv[2] } }
		END { print n + 0 }' "$CTL/counters"
}

counter_above() { # counter_above NAME N
	[ "$(counter "$1")" -gt "$2" ]
}

carrier_setup() { # carrier_setup NETDEV: dummy0 is made, for both ends in a guest
	if [ "$PROVIDER" = verbs ]; then
		rxe_setup rxe0 "$1" || return
	else
		ip link set lo up || return
	fi
	modprobe "kfabric_$PROVIDER"
}

has_cache() { # the disk says that writes need flushes
	[ "$(cat "$CTL/flush_mode")" != commit ]
}

disk_setup() { # disk_setup [SETTING...]: a brick on devdax, and the driver
	BRICK_IP=$LOCAL_IP
	[ "$PROVIDER" = verbs ] || BRICK_IP=127.0.0.1
	dax=$(devdax_setup) || bail "a devdax namespace can be made"
	carrier_setup dummy0 || bail "the carrier is there"
	make_key
	configure_brick "$dax" "$BRICK_IP" "$@"
	# shellcheck disable=SC2086 # two words, or none
	brickd format "$dax" --force ${SLOW:+--slow $SLOW} ||
		bail "devdax is formatted"
	serve_brick || bail "brickd serves it: $(tail -3 $BRICK_LOG)"
	modprobe kfbrick || bail "the driver loads"
}

disk_end() { # nothing is left of disk_setup
	check "the driver unloads" rmmod kfbrick
	check "no object is left open" wait_for 30 fabric_idle
	check "brickd stops" stop_brick
}

counts() { # operations of each kind, over all queues
	awk '{ for (i = 2; i <= NF; i++) { split($i, kv, "="); n[kv[1]] += kv[2] } }
		END { print n["writes"] + 0, n["reads"] + 0, n["readbacks"] + 0,
			n["messages"] + 0 }' "$CTL/counters"
}

posts() { # posts WRITES READS READBACKS MESSAGES COMMAND...: exactly these
	_want="$1 $2 $3 $4"
	shift 4
	_was=$(counts)
	"$@" || return
	_is=$(counts)
	# shellcheck disable=SC2086 # words
	set -- $_was $_is
	_got="$(($5 - $1)) $(($6 - $2)) $(($7 - $3)) $(($8 - $4))"
	echo "writes reads readbacks messages: $_got, wanted $_want"
	[ "$_got" = "$_want" ]
}
