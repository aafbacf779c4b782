# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The kernel's NFS server over RDMA, without the programs that usually serve it, and
# mounts of it.

NFS_EXPORT=/export
NFS_MOUNT=/mnt/nfs
NFS_PORT=20049
NFSD=/proc/fs/nfsd
NFS_CACHES=/proc/net/rpc
# Exports and who may have them stay as they are.
NFS_NEVER=2147483647
# NFSEXP_FSID, NFSEXP_NOSUBTREECHECK, NFSEXP_INSECURE_PORT; root is root.
NFS_FLAGS=$((0x2000 | 0x0400 | 0x0004))

# Says what rpc.mountd would: who the client is, what is exported to it, and which
# export has the number of a file handle.
nfs_export() {
	echo "nfsd $CLIENT_IP $NFS_NEVER $CLIENT_IP" >$NFS_CACHES/auth.unix.ip/channel &&
		echo "$CLIENT_IP $NFS_EXPORT $NFS_NEVER $NFS_FLAGS 65534 65534 0" \
			>$NFS_CACHES/nfsd.export/channel &&
		echo "$CLIENT_IP 1 \\x00000000 $NFS_NEVER $NFS_EXPORT" \
			>$NFS_CACHES/nfsd.fh/channel
}

nfsd_start() { # it listens to RDMA alone; what is exported it forgets when it stops
	echo "rdma $NFS_PORT" >$NFSD/portlist && nfs_export && echo 8 >$NFSD/threads
}

nfsd_stop() { # each connection ends, too
	echo 0 >$NFSD/threads
}

nfsd_setup() {
	mkdir -p $NFS_EXPORT /var/lib/nfs/v4recovery
	ip link set lo up
	modprobe -a nfsd rpcrdma || return
	mount -t tmpfs none $NFS_EXPORT && mount -t nfsd none $NFSD || return
	# No protocol that wants rpcbind, and no waiting for clients of before.
	echo "-3" >$NFSD/versions
	echo 10 >$NFSD/nfsv4leasetime
	echo 10 >$NFSD/nfsv4gracetime
	nfsd_start
}

nfs_mount() { # nfs_mount VERSION [OPTION]
	mkdir -p $NFS_MOUNT
	mount -t nfs4 -o "vers=$1,proto=rdma,port=$NFS_PORT,addr=$SERVER_IP,clientaddr=$CLIENT_IP${2:+,$2}" \
		"$SERVER_IP:/" $NFS_MOUNT
}

# nfs_counts COLUMN...: the sums of columns of the mount's "xprt: rdma" line
nfs_counts() {
	awk -v want="$*" '$1 == "xprt:" && $2 == "rdma" {
		n = split(want, column, " ")
		for (i = 1; i <= n; i++) sum += $(column[i] + 2)
	} END { print sum + 0 }' /proc/self/mountstats
}
