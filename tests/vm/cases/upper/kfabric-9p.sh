# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The kernel's 9P file system over kfabric, with the distribution's 9P server behind the
# bridge: over verbs and tcp, what a server that dies leaves, requests that are taken back;
# the kernel's own trans=rdma by way of it.
# NEEDS: rdma python 9p
# KO: kfabric_core kfabric_verbs kfabric_tcp kfabric_9p
# BIN: kfabric-9p-bridge
# FILES: tests/vm/target/exercise_file.py
# MEM: 1G
# TIMEOUT: 900

OPERATIONS=${K9P_OPERATIONS:-60}
FILES=${K9P_FILES:-20}

same_tree() { # of what was written on the mount, where it is kept
	tree_sums $MOUNT/tree >/tmp/sums.there && tree_sums $EXPORT/tree >/tmp/sums.kept &&
		cmp /tmp/sums.there /tmp/sums.kept &&
		test "$(wc -l </tmp/sums.kept)" -eq "$FILES"
}

# beside PROVIDER PROVIDER-OF-THE-BRIDGE ADDRESS PORT: files over one provider
over() {
	_how="prov=$1,port=$4"
	check "$2: a bridge listens" bridge_at "$2" "$3" "$4" || {
		diag "$(cat "/tmp/bridge.$4")"
		return 1
	}
	check "$1 to $2: a mount" mount_9p "$3" "trans=kfabric,$_how,msize=65536" || {
		diag "$(cat "/tmp/bridge.$4" /tmp/diod.log)"
		return 1
	}
	check "its options are told" grep -q "$MOUNT 9p .*trans=kfabric.*port=$4" \
		/proc/mounts
	check "$OPERATIONS operations on a file" exercised "$OPERATIONS" 1
	check "$FILES files are written" make_tree $MOUNT/tree "$FILES"
	check "they are what is kept" same_tree
	check "they are removed" rm -r $MOUNT/tree
	check "none is kept" test ! -e $EXPORT/tree
	check "it is unmounted" umount $MOUNT
	check "depth 1, pages of a mapping, the smallest messages" mount_9p "$3" \
		"trans=kfabric,$_how,msize=4096,depth=1,cache=mmap"
	check "$OPERATIONS operations on a file, mapped too" \
		exercised "$OPERATIONS" 2 mapped
	check "it is unmounted" umount $MOUNT
}

is_killed() { # is_killed PROCESS: and gone, though its request has no answer
	kill -9 "$1" && wait_for 20 is_over "$1"
}

# Readers of a server that is stopped are killed: each request is taken back by a Tflush
# when it goes on, and the mount is what it was.
taken_back() {
	kill -STOP $DIOD
	_pids=
	for _i in 1 2 3 4 5 6; do
		cat $MOUNT/long >/dev/null &
		_pids="$_pids $!"
	done
	sleep 1
	for _pid in $_pids; do
		kill -9 "$_pid"
	done
	sleep 0.5
	kill -CONT $DIOD
	for _pid in $_pids; do
		wait_for 20 is_over "$_pid" || return
	done
	cmp $MOUNT/long $EXPORT/long
}

fails_soon() { # an operation on the mount; it waits for nobody
	timeout 20 ls $MOUNT/. >/tmp/ls.out 2>&1
	_status=$?
	cat /tmp/ls.out
	[ $_status != 0 ] && [ $_status != 124 ] && [ $_status != 143 ]
}

check "soft RoCE starts" rxe_setup || exit
check "the modules load" modprobe -a kfabric_verbs kfabric_tcp 9p 9pnet_rdma ||
	exit
check "the server serves" serve_9p || {
	diag "$(cat /tmp/diod.log)"
	exit
}

over_rdma() { # the kernel's own transport, which says nothing of what it can
	check "trans=rdma: a bridge listens" bridge_at verbs "$LOCAL_IP" 5643 --rdma
	check "trans=rdma: a mount" mount_9p "$LOCAL_IP" \
		"trans=rdma,port=5643,msize=65536,rq=16,sq=16" || return
	check "trans=rdma: $OPERATIONS operations on a file" exercised "$OPERATIONS" 3
	check "trans=rdma: it is unmounted" umount $MOUNT
	check_fails "trans=rdma: kfabric's transport is refused there" mount_9p \
		"$LOCAL_IP" "trans=kfabric,prov=verbs,port=5643,timeout=5"
}

over verbs verbs "$LOCAL_IP" 5640
over tcp stcp 127.0.0.1 5641
over tcp tcp 127.0.0.1 5642
over_rdma

for how in "verbs $LOCAL_IP 5640" "tcp 127.0.0.1 5641"; do
	# shellcheck disable=SC2086 # three words
	set -- $how
	head -c 3000000 /dev/urandom >$EXPORT/long
	check "$1: it is mounted" mount_9p "$2" "trans=kfabric,prov=$1,port=$3"
	check "$1: requests are taken back" taken_back
	check "$1: the server dies" stop_9p
	check "$1: what needs it fails" fails_soon
	check "$1: the mount goes" umount $MOUNT
	check_fails "$1: no mount without a server" mount_9p "$2" \
		"trans=kfabric,prov=$1,port=$3,timeout=5"
	check "$1: the server comes back" serve_9p
	check "$1: a new mount" mount_9p "$2" "trans=kfabric,prov=$1,port=$3"
	check "$1: has what was there" cmp $MOUNT/long $EXPORT/long
	check "$1: it goes" umount $MOUNT
done

check_fails "nobody is at that port" mount_9p 127.0.0.1 \
	trans=kfabric,prov=tcp,port=5999,timeout=5
check_fails "no provider of that name" mount_9p 127.0.0.1 \
	trans=kfabric,prov=none,port=5641
for wrong in depth=0 depth=65 depth=x timeout=0 timeout=99999; do
	check_fails "$wrong is refused" mount_9p 127.0.0.1 \
		"trans=kfabric,prov=tcp,port=5641,$wrong"
done
check "the transport unloads" wait_for 30 rmmod kfabric_9p
check "the providers unload" wait_for 30 rmmod kfabric_tcp kfabric_verbs
