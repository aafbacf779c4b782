# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# NFS over kfabric: the kernel's client by kfabric_rpc, and in the other guest the kernel's
# server with its own RDMA; files each way, and a server that stops and comes back.
# NEEDS: rdma python
# MODULES: nfsd rpcrdma nfsv4
# KO: kfabric_core kfabric_verbs kfabric_rpc
# FILES: tests/vm/target/exercise_file.py
# GUESTS: 2
# MEM: 1G
# TIMEOUT: 300

LONG_S=600
VERSIONS=${KRPC_VERSIONS:-4.1}
OPERATIONS=${KRPC_OPERATIONS:-150}
FILES=${KRPC_FILES:-60}
STOPS=${KRPC_STOPS:-1}
ENDLESS=4G

# Columns of mountstats: docs/kfabric-rpc.md.
CONNECTS=3
READ_CHUNKS=11
WRITE_CHUNKS=12
REPLY_CHUNKS=13
REPLY_BYTES=15
BAD_REPLIES=20
CALLBACKS=28
# One of the files that make_tree makes.
HELD=back/d00/s0/file0

serves_stops() { # the server stops when the client says so, and comes back
	for i in $(seq "$STOPS"); do
		wait_peer "$1-stop-$i" $LONG_S || return
		nfsd_stop
		sleep 2
		nfsd_start || return
		announce "$1-back-$i"
	done
}

server() {
	check "the server serves" nfsd_setup
	announce serving
	for how in $VERSIONS; do
		check "$how: the client has written" wait_peer "$how-written" $LONG_S
		check "$how: what the client has written is kept" \
			tree_is $NFS_EXPORT/tree "$FILES"
		check "$how: the sum of what it did to a file" eval \
			'sha256sum $NFS_EXPORT/exercised | cut -c1-64 >/tmp/sum'
		diag "$(cat /tmp/sum)"
		check "$how: files are written here" make_tree $NFS_EXPORT/back "$FILES"
		announce "$how-here"
		check "$how: the client has read them" wait_peer "$how-read" $LONG_S
		check "$how: one is changed that the client may have a delegation of" \
			eval "echo changed >>$NFS_EXPORT/$HELD"
		announce "$how-changed"
		check "$how: the server stops $STOPS times" serves_stops "$how"
		check "$how: the client has done with it" wait_peer "$how-gone" $LONG_S
		check "$how: what was written meanwhile is kept" eval \
			'cmp $NFS_EXPORT/long $NFS_EXPORT/copy'
		(cd $NFS_EXPORT && rm -r tree back exercised long copy endless)
		announce "$how-clean"
	done
	check "the server stops" nfsd_stop
}

nothing_is_cached() { # what is read next comes from the server
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

writes_through_stops() { # a file is written and copied while the server stops
	dd if=/dev/urandom of=/tmp/long bs=64k count=32 2>/dev/null
	for i in $(seq "$STOPS"); do
		dd if=/tmp/long of=$NFS_MOUNT/long bs=64k conv=fsync 2>/dev/null &
		_writer=$!
		announce "$how-stop-$i"
		wait_peer "$how-back-$i" $LONG_S || return
		wait $_writer || return
		nothing_is_cached
		cp $NFS_MOUNT/long $NFS_MOUNT/copy || return
		nothing_is_cached
		cmp /tmp/long $NFS_MOUNT/copy || return
	done
}

reads_above() { # more than so many bytes have come by chunks
	[ "$(nfs_counts $REPLY_BYTES)" -gt "$1" ]
}

# It is unmounted by force while somebody reads what no page cache has: more than he comes
# to in the time.
goes_under_load() {
	truncate -s $ENDLESS $NFS_MOUNT/endless || return
	_before=$(nfs_counts $REPLY_BYTES)
	dd if=$NFS_MOUNT/endless of=/dev/null bs=64k iflag=direct 2>/dev/null &
	_reader=$!
	wait_for 60 reads_above $((_before + 1048576)) && ! is_over $_reader
	_reads=$?
	umount -f -l $NFS_MOUNT || return
	kill -9 $_reader 2>/dev/null
	wait $_reader
	[ $? -ne 0 ] && [ $_reads = 0 ]
}

client() {
	check "the kernel's own transport is there" modprobe rpcrdma
	check_fails "and this one does not load beside it" modprobe kfabric_rpc
	check "it does without it" eval 'rmmod rpcrdma && modprobe kfabric_rpc' || return
	# It says that it is there already, which modprobe takes for success.
	check "and the kernel's own does not" eval \
		'modprobe rpcrdma; ! grep -q ^rpcrdma /proc/modules'
	check "the server serves" wait_peer serving $LONG_S || return
	for how in $VERSIONS; do
		check "$how: it is mounted" nfs_mount "$how" || return
		check_fails "$how: the transport does not unload" rmmod kfabric_rpc
		check "$how: $OPERATIONS operations on a file" eval \
			'exercise $NFS_MOUNT/exercised "$OPERATIONS" 3 >/tmp/sum'
		diag "$(cat /tmp/check.out)"
		check "$how: $FILES files are written" make_tree $NFS_MOUNT/tree "$FILES"
		sync
		announce "$how-written"
		check "$how: those of the server are there" wait_peer "$how-here" $LONG_S
		check "$how: all of them are the same" tree_is $NFS_MOUNT/back "$FILES"
		announce "$how-read"
		check "$how: one is changed there" wait_peer "$how-changed" $LONG_S
		check "$how: and here" eval "tail -n 1 $NFS_MOUNT/$HELD | grep -q changed"
		[ "$how" = 4.0 ] || check "$how: the server has called to say so" \
			[ "$(nfs_counts $CALLBACKS)" -gt 0 ]
		check "$how: it goes and comes" eval \
			'umount $NFS_MOUNT && nfs_mount "$how"'
		check "$how: the file is what was done to it" eval \
			'sha256sum $NFS_MOUNT/exercised | grep -q "^$(cat /tmp/sum) "'
		check "$how: the server stops, and nothing is lost" writes_through_stops
		diag "$(grep -h 'xprt:' /proc/self/mountstats)"
		check "$how: it has connected again" [ "$(nfs_counts $CONNECTS)" -gt 1 ]
		check "$how: data went by chunks" \
			[ "$(nfs_counts $READ_CHUNKS)" -gt 8 -a "$(nfs_counts $WRITE_CHUNKS)" -gt 8 ]
		check "$how: long replies came" [ "$(nfs_counts $REPLY_CHUNKS)" -gt 0 ]
		check "$how: no reply broke a rule" [ "$(nfs_counts $BAD_REPLIES)" -eq 0 ]
		check "$how: it is unmounted while it is read" goes_under_load
		announce "$how-gone"
		check "$how: the server is done" wait_peer "$how-clean" $LONG_S
	done
	check "no object is left open" wait_for 30 fabric_idle
	check "the transport unloads" wait_for 30 rmmod kfabric_rpc
	check "the provider unloads" rmmod kfabric_verbs
}

check "the wire is up" net_setup || exit
check "soft RoCE starts on eth0" rxe_setup rxe0 eth0 || exit
check "the guests meet" meet up $LONG_S || exit
$ROLE
check "the guests part" meet bye $LONG_S
