# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Bridges to a 9P server that mean the kernel no good: how they connect, what they answer
# to requests, to those that are taken back, and to an unmount. Each ends its own mount
# at most, and leaves nothing.
# NEEDS: python 9p
# KO: kfabric_core kfabric_tcp kfabric_9p
# FILES: tests/func/tcp_peers.py tests/vm/target/ninep_hostile.py
# MEM: 1G
# TIMEOUT: 600

is_no_mount() { # is_no_mount PORT: mount says so by itself
	hostile_mount "$1" timeout=3
	[ $? = 255 ] # of busybox
}

is_ended() { # nothing is served any more, and who asks is told at once
	! serves
}

knows_errors() { # no program was told what programs do not know
	! grep -i "unknown error" /tmp/looked
}

taken_back() { # taken_back NAME: who looks it up is killed, and is gone
	begins "$1" && kill -9 $LOOKER && wait_for 20 is_over $LOOKER
}

asks() { # asks NAME: as whoever asks for it does
	case $1 in
	flush*) taken_back "$1" ;;
	*) looks_up "$1" ;;
	esac
}

ends_with() { # ends_with NAME: a mount that this answer ends
	hostile_mount $HOSTILE_PORT || return
	asks "$1" && wait_for 20 is_ended
	_bad=$?
	goes && [ $_bad = 0 ] && knows_errors
}

outlives() { # outlives NAME: a mount that this answer does not end
	hostile_mount $HOSTILE_PORT depth=1 || return
	asks "$1" && serves
	_bad=$?
	goes && [ $_bad = 0 ]
}

ends_unmounted() { # ends_unmounted NAME: the answer comes while it is unmounted
	hostile_mount $HOSTILE_PORT cache=loose || return
	looks_up "$1"
	goes
}

# What is never acknowledged ends the connection when its time is over.
unacknowledged() {
	hostile_mount $HOSTILE_PORT timeout=3 && looks_up unacknowledged &&
		wait_for 60 is_ended && goes
}

all_answers() { # all_answers N: each of them, in the Nth round
	for name in $FATAL; do
		check "$1: the connection ends with: $name" ends_with "$name"
	done
	for name in $HARMLESS; do
		check "$1: the connection goes on after: $name" outlives "$name"
	done
	for name in clunked-twice clunk-flood clunk-reset clunk-silent; do
		check "$1: it is unmounted with: $name" ends_unmounted "$name"
	done
}

# Whoever mounts is killed while the other end says nothing, long before its time is over.
killed_early() {
	_port=$((HOSTILE_PORT + $(python3 $HOSTILE --hellos | grep -n '^silent$' | cut -d: -f1)))
	mount -t 9p -o "$HOSTILE_OPTIONS,port=$_port,timeout=3600" 127.0.0.1 $MOUNT &
	_mount=$!
	wait_for 20 grep -q k9p_conn /proc/$_mount/wchan
	_waits=$?
	kill -9 $_mount
	wait_for 20 is_over $_mount && [ $_waits = 0 ]
}

all_hellos() {
	_port=$HOSTILE_PORT
	for name in $(python3 $HOSTILE --hellos); do
		_port=$((_port + 1))
		check "no mount with: $name" is_no_mount "$_port"
	done
}

nothing_in_use() { # of the 9P client's requests
	! case_log | grep -i "still in use\|still references\|not clunked"
}

hostile_setup || exit
FATAL=$(python3 $HOSTILE --fatal)
HARMLESS=$(python3 $HOSTILE --harmless)

check "an honest mount" hostile_mount $HOSTILE_PORT
check "serves" serves
check "the transport does not unload" eval '! rmmod kfabric_9p'
check "it goes" goes
# The first transport that there is takes it.
check "a mount without options finds nobody" says "Connection refused" \
	mount -t 9p 127.0.0.1 $MOUNT
check "requests that nobody acknowledges" unacknowledged
check "a mount that is killed while it connects" killed_early
all_hellos
if [ "${K9P_ROUNDS:-2}" -gt 0 ]; then
	all_answers 1
	_before=$(kernel_kib)
	for i in $(seq 2 "${K9P_ROUNDS:-2}"); do
		all_answers "$i"
	done
	check "the kernel has not grown by 4 MiB" \
		wait_for 60 kernel_below $((_before + 4096))
fi
check "a broken rule is in the log" eval \
	'case_log | grep -q "a reply that belongs to no request"'
check "no request was forgotten" nothing_in_use
check "an honest mount" hostile_mount $HOSTILE_PORT
check "serves" serves
check "it goes" goes
hostile_end
