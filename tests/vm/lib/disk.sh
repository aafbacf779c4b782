# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A brick in the guest, and disks that are attached to it.
#
# DISK is the disk that attach_disk made last, CTL its attributes.

KEY=/tmp/key
BRICK_LOG=/tmp/brick.log

make_key() { # the same in both guests of a pair: they share no file
	printf '%064d\n' 12345678 >$KEY && chmod 600 $KEY
}

configure_brick() { # configure_brick STORE ADDRESS [SETTING...]
	_store=$1 _address=$2
	shift 2
	{
		echo "[brick]"
		echo "store = $_store"
		echo "listen = verbs://$_address"
		for _setting; do
			echo "$_setting"
		done
		echo "[client a]"
		echo "key-file = $KEY"
		echo "grant = 0x0+1T rw"
		echo "[client reader]"
		echo "key-file = $KEY"
		echo "grant = 0x0+1T ro"
	} >/tmp/brick.conf
}

serve_brick() { # by /tmp/brick.conf; BRICKD is its process
	rm -f /tmp/ready
	IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1 \
		brickd --config /tmp/brick.conf --ready-fd 3 \
		3>/tmp/ready >>$BRICK_LOG 2>&1 &
	BRICKD=$!
	wait_for "${LONG_S:-100}" test -s /tmp/ready
}

stop_brick() {
	kill "$BRICKD" && wait "$BRICKD"
}

ctl() { # brickctl, as client a
	IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1 \
		brickctl --timeout 60 --brick "verbs://$BRICK_IP" --client a \
		--key-file $KEY "$@"
}

attach_disk() { # attach_disk OPTION...: of brickctl attach
	DISK=$(ctl attach "$@" 2>/tmp/attach.err) || {
		cat /tmp/attach.err
		return 1
	}
	CTL=/sys/block/${DISK#/dev/}/kfbrick
	wait_for 10 test -b "$DISK"
}

detach_disk() { # detach_disk [DISK]
	brickctl detach "${1:-$DISK}"
}

counter() { # counter NAME: of operations, over all queues of the disk
	awk -v name="$1" '{ for (i = 1; i <= NF; i++) {
			split($i, kv, "="); if (kv[1] == name) n += kv[2] } }
		END { print n + 0 }' "$CTL/counters"
}
