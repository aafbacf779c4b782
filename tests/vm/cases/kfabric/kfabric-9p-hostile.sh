# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Bridges to a 9P server that mean the kernel no good: how they connect, what they answer
# to requests, to those that are taken back, and to an unmount. Each ends its own mount
# at most, and leaves nothing.
# NEEDS: python 9p
# KO: kfabric_core kfabric_tcp kfabric_9p kfi_probe
# FILES: tests/func/tcp_peers.py tests/vm/target/ninep_hostile.py
# MEM: 1G
# TIMEOUT: 600

PORT=5700
HOSTILE=/vm/files/ninep_hostile.py
ASKED=/tmp/asked
GO=/tmp/go
SOON_S=$((30 * TIMEOUT_FACTOR))

OPTIONS=version=9p2000.L,uname=root,aname=/,trans=kfabric,prov=tcp,msize=65536

hostile_mount() { # hostile_mount PORT [OPTION]
	timeout -s KILL $SOON_S mount -t 9p -o "$OPTIONS,port=$1${2:+,$2}" 127.0.0.1 $MOUNT
}

is_no_mount() { # is_no_mount PORT: mount says so by itself
	hostile_mount "$1" timeout=3
	[ $? = 255 ] # of busybox
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

is_ended() { # nothing is served any more, and who asks is told at once
	! serves
}

knows_errors() { # no program was told what programs do not know
	! grep -i "unknown error" /tmp/looked
}

goes() { # it is unmounted, and nobody is waited for
	timeout -s KILL $SOON_S umount $MOUNT
}

begins() { # begins NAME: somebody waits for an answer about it
	: >$ASKED
	stat "$MOUNT/$1" >/dev/null 2>&1 &
	LOOKER=$!
	wait_for 20 grep -q "asked $1" $ASKED
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
	hostile_mount $PORT || return
	asks "$1" && wait_for 20 is_ended
	_bad=$?
	goes && [ $_bad = 0 ] && knows_errors
}

outlives() { # outlives NAME: a mount that this answer does not end
	hostile_mount $PORT depth=1 || return
	asks "$1" && serves
	_bad=$?
	goes && [ $_bad = 0 ]
}

ends_unmounted() { # ends_unmounted NAME: the answer comes while it is unmounted
	hostile_mount $PORT cache=loose || return
	looks_up "$1"
	goes
}

# The only place is taken by the second one while the first is answered; he is held
# before he has sent anything, and has his reply already.
is_held_answered() {
	begins first || return
	ls -d $MOUNT/early >/tmp/early 2>&1 &
	_early=$!
	wait_for 20 grep -q k9p_call_start /proc/$_early/wchan || return
	echo "it waits for a place"
	probe hold finish_wait by=ls
	touch $GO
	wait_for 20 probed_above finish_wait 0 || return
	echo "it has one, and is held"
	probe count p9_client_cb
	rm $GO
	wait_for 20 probed_above p9_client_cb 0
}

answered_first() {
	rm -f $GO
	hostile_mount $PORT depth=1 || return
	is_held_answered && echo "it is answered"
	_held=$?
	touch $GO
	probe release
	wait_for 20 is_over $_early || kill -9 $_early
	wait $_early && [ $_held = 0 ]
	_bad=$?
	cat /tmp/early
	probe clear
	rm -f $GO
	wait $LOOKER && serves || _bad=1
	goes && [ $_bad = 0 ]
}

# What is never acknowledged ends the connection when its time is over.
unacknowledged() {
	hostile_mount $PORT timeout=3 && looks_up unacknowledged &&
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
	_port=$((PORT + $(python3 $HOSTILE --hellos | grep -n '^silent$' | cut -d: -f1)))
	mount -t 9p -o "$OPTIONS,port=$_port,timeout=3600" 127.0.0.1 $MOUNT &
	_mount=$!
	wait_for 20 grep -q k9p_conn /proc/$_mount/wchan
	_waits=$?
	kill -9 $_mount
	wait_for 20 is_over $_mount && [ $_waits = 0 ]
}

all_hellos() {
	_port=$PORT
	for name in $(python3 $HOSTILE --hellos); do
		_port=$((_port + 1))
		check "no mount with: $name" is_no_mount "$_port"
	done
}

nothing_in_use() { # of the 9P client's requests
	! case_log | grep -i "still in use\|still references\|not clunked"
}

mkdir -p $MOUNT
check "the loop-back device is up" ip link set lo up
check "the modules load" modprobe -a kfabric_tcp 9p || exit
probe_setup
python3 $HOSTILE $PORT >$ASKED 2>/tmp/hostile.log &
check "the bridge listens" wait_for 60 grep -q listening $ASKED || {
	diag "$(cat /tmp/hostile.log)"
	exit
}
FATAL=$(python3 $HOSTILE --fatal)
HARMLESS=$(python3 $HOSTILE --harmless)

check "an honest mount" hostile_mount $PORT
check "serves" serves
check "the transport does not unload" eval '! rmmod kfabric_9p'
check "it goes" goes
# The first transport that there is takes it.
check "a mount without options finds nobody" says "Connection refused" \
	mount -t 9p 127.0.0.1 $MOUNT
check "a request that is answered before it is sent" answered_first
check "requests that nobody acknowledges" unacknowledged
check "a mount that is killed while it connects" killed_early
all_hellos
if [ "${K9P_ROUNDS:-2}" -gt 0 ]; then
	all_answers 1
	_before=$(kernel_kib)
	for i in $(seq 2 "${K9P_ROUNDS:-2}"); do
		all_answers "$i"
	done
	check "the kernel has not grown by 4 MiB" kernel_below $((_before + 4096))
fi
check "a broken rule is in the log" eval \
	'case_log | grep -q "a reply that belongs to no request"'
check "no request was forgotten" nothing_in_use
check "an honest mount" hostile_mount $PORT
check "serves" serves
check "it goes" goes
probe_end
check "the transport unloads" wait_for 30 rmmod kfabric_9p
check "no object is left open" wait_for 10 fabric_idle
check "the provider unloads" rmmod kfabric_tcp
