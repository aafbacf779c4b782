# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# 9P over the wire: files written in one guest and kept in the other, and the other way
# round, over verbs and tcp; the server dies again and again.
# NEEDS: rdma python 9p
# KO: kfabric_core kfabric_verbs kfabric_tcp kfabric_9p
# BIN: kfabric-9p-bridge
# FILES: tests/vm/target/exercise_file.py
# GUESTS: 2
# MEM: 1G
# MANUAL: yes
# TIMEOUT: 7200

LONG_S=3600
OPERATIONS=${K9P_OPERATIONS:-20000}
FILES=${K9P_FILES:-5000}
DEATHS=${K9P_DEATHS:-5}
PORTS=${K9P_PORTS:-verbs:verbs:5640 tcp:stcp:5641} # of either alone, too

bridges() {
	for _port in $PORTS; do
		IFS=: read -r _ _provider _number <<-EOF
			$_port
		EOF
		bridge_at "$_provider" $SERVER_IP "$_number" || return
	done
}

serve_deaths() { # the server dies when the client says so, and comes back
	for i in $(seq "$DEATHS"); do
		wait_peer "$1-die-$i" $LONG_S || return
		stop_9p
		announce "$1-dead-$i"
		wait_peer "$1-seen-$i" $LONG_S || return
		serve_9p || return
		announce "$1-back-$i"
	done
}

server() {
	check "the server serves" serve_9p
	check "bridges listen" bridges
	announce serving
	for port in $PORTS; do
		how=${port%%:*}
		check "$how: the client has written" wait_peer "$how-written" $LONG_S
		check "$how: what the client has written is kept" tree_is $EXPORT/tree "$FILES"
		check "$how: the sum of what it did to a file" eval \
			'sha256sum $EXPORT/exercised | cut -c1-64 >/run/events/sum'
		rm -r $EXPORT/tree
		check "$how: files are written here" make_tree $EXPORT/back "$FILES"
		announce "$how-here"
		check "$how: the client has read them" wait_peer "$how-read" $LONG_S
		check "$how: the server dies $DEATHS times" serve_deaths "$how"
		check "$how: the client has seen all deaths" wait_peer "$how-over" $LONG_S
		rm -r $EXPORT/back $EXPORT/exercised
		announce "$how-clean"
	done
}

get_mount() {
	mount_9p $SERVER_IP "trans=kfabric,prov=$how,port=$number"
}

dies_once() { # dies_once N: a mount whose server dies fails, goes, and comes back
	announce "$how-die-$1"
	wait_peer "$how-dead-$1" $LONG_S || return
	timeout 60 ls $MOUNT/. && return 1
	umount $MOUNT || return
	announce "$how-seen-$1"
	wait_peer "$how-back-$1" $LONG_S && get_mount &&
		folder_is $MOUNT/back "$(printf d%02d "$1")"
}

client() {
	check "the server serves" wait_peer serving $LONG_S || return
	for port in $PORTS; do
		IFS=: read -r how _ number <<-EOF
			$port
		EOF
		check "$how: it is mounted" get_mount || return
		check "$how: $OPERATIONS operations on a file" eval \
			'exercise $MOUNT/exercised "$OPERATIONS" 3 >/tmp/sum'
		diag "$(cat /tmp/check.out)"
		check "$how: $FILES files are written" make_tree $MOUNT/tree "$FILES"
		announce "$how-written"
		check "$how: those of the server are there" wait_peer "$how-here" $LONG_S
		check "$how: all of them are the same" tree_is $MOUNT/back "$FILES"
		check "$how: the file is what was done to it" eval \
			'sha256sum $MOUNT/exercised | grep -q "^$(cat /tmp/sum) "'
		announce "$how-read"
		for i in $(seq "$DEATHS"); do
			check "$how: death $i of the server" dies_once "$i" || return
		done
		announce "$how-over"
		check "$how: it is unmounted" umount $MOUNT
		check "$how: the server is done" wait_peer "$how-clean" $LONG_S
	done
	check "the transport unloads" wait_for 30 rmmod kfabric_9p
}

check "the wire is up" net_setup || exit
check "soft RoCE starts on eth0" rxe_setup rxe0 eth0 || exit
check "the modules load" modprobe -a kfabric_verbs kfabric_tcp 9p || exit
check "the guests meet" meet up $LONG_S || exit
$ROLE
check "the guests part" meet bye $LONG_S
