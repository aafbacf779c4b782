# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# NFS 3 by kfabric_rpc, of a server that means the kernel no good: replies that break the
# rules, that nobody waits for, that come before their calls, or not at all. Each ends its
# connection at most; the mount serves on, and nothing is left.
# NEEDS: rdma python
# MODULES: nfsv3
# KO: kfabric_core kfabric_verbs kfabric_rpc kfi_probe
# BIN: verbs_pipe
# FILES: tests/vm/target/nfs_hostile.py
# MEM: 1G
# TIMEOUT: 400

HOSTILE=/vm/files/nfs_hostile.py
SAID=/tmp/hostile.out
MOUNT_PORT=20048
FILE_BYTES=65536
PATIENCE_S=120
# Of mountstats: docs/kfabric-rpc.md.
CONNECTS=3
BAD_REPLIES=20

hostile_mount() { # hostile_mount [OPTION]
	mkdir -p $NFS_MOUNT
	mount -t nfs -o "vers=3,proto=rdma,port=$NFS_PORT,addr=$LOCAL_IP,mountproto=tcp,mountvers=3,mountport=$MOUNT_PORT,mountaddr=$LOCAL_IP,nolock,noacl,lookupcache=none${1:+,$1}" \
		"$LOCAL_IP:/" $NFS_MOUNT
}

reads() { # reads NAME: the file has its name all over
	timeout -s KILL "$PATIENCE_S" dd if="$NFS_MOUNT/$1" of=/tmp/read bs=$FILE_BYTES count=1 \
		iflag=direct || return
	yes "$1" | tr -d '\n' | head -c $FILE_BYTES | cmp - /tmp/read
}

connects() {
	nfs_counts $CONNECTS
}

ends_with() { # ends_with NAME: the connection does, and the file is read by another one
	_was=$(connects)
	reads "$1" && reads "after-$1" && [ "$(connects)" -gt "$_was" ]
}

outlives() { # outlives NAME: the file is read, by the connection that there is
	_was=$(connects)
	reads "$1" && reads "after-$1" && [ "$(connects)" = "$_was" ]
}

fails_with() { # fails_with NAME: the file is not read, and the connection is still good
	_was=$(connects)
	says "Input/output error" reads "$1" && reads "after-$1" &&
		[ "$(connects)" = "$_was" ]
}

# Replies come while FUNCTION, of a call on its way, takes its time: they are to nothing.
early_in() { # early_in FUNCTION
	_was=$(connects)
	_bad=$(nfs_counts $BAD_REPLIES)
	probe sleep "$1" 2000
	reads early
	_fails=$?
	_asleep=$(probed "$1")
	probe clear
	reads "after-$1" && [ $_fails = 0 ] && [ "$_asleep" -gt 0 ] &&
		[ "$(connects)" = "$_was" ] &&
		[ "$(nfs_counts $BAD_REPLIES)" -gt "$_bad" ]
}

check "soft RoCE starts" rxe_setup || exit
check "the modules load" modprobe -a kfabric_rpc nfsv3 || exit
probe_setup
python3 $HOSTILE /bin/verbs_pipe $LOCAL_IP $NFS_PORT $MOUNT_PORT >$SAID 2>&1 &
check "the server listens" wait_for 60 grep -q listening $SAID || {
	diag "$(cat $SAID)"
	exit
}
check "it is mounted" hostile_mount || exit
check "a file is read" reads good
for name in $(python3 $HOSTILE --harmless); do
	check "the connection goes on after: $name" outlives "$name"
done
for name in $(python3 $HOSTILE --errors); do
	check "a file is not read, and the next one is: $name" fails_with "$name"
done
for where in rpcw_call_pack krpc_req_offer; do
	# Where no call is sent any more nothing of this ends.
	check "replies before their calls, in $where" early_in $where || exit
done
for name in $(python3 $HOSTILE --fatal); do
	check "the connection ends with: $name" ends_with "$name"
done
diag "$(grep -h 'xprt:' /proc/self/mountstats)"
check "it is unmounted" umount $NFS_MOUNT
check "it is mounted for those who wait for 5 s" hostile_mount timeo=50
check "a call that has no reply is made again" ends_with silent
check "it is unmounted" umount $NFS_MOUNT
check "a broken rule is in the log" eval \
	'case_log | grep -q "the connection ends, as a reply is none"'
probe_end
check "no object is left open" wait_for 30 fabric_idle
check "the transport unloads" wait_for 30 rmmod kfabric_rpc
check "the provider unloads" rmmod kfabric_verbs
