// SPDX-License-Identifier: BSD-2-Clause
/*
 * What an object does not do. libfabric's inline functions call most entries of
 * a table without a look, and do not ask whether a table is there: each must be
 * there and say so.
 */
#include "impl.h"

/* clang-format off */
STCP_NOT_DONE(int, stcp_no_bind, struct fid *fid, struct fid *bfid,
	      uint64_t flags)
STCP_NOT_DONE(int, stcp_no_control, struct fid *fid, int command, void *arg)
STCP_NOT_DONE(int, stcp_no_ops_open, struct fid *fid, const char *name,
	      uint64_t flags, void **ops, void *context)
STCP_NOT_DONE(int, stcp_no_tostr, const struct fid *fid, char *buf, size_t len)
STCP_NOT_DONE(int, stcp_no_ops_set, struct fid *fid, const char *name,
	      uint64_t flags, void *ops, void *context)

STCP_NOT_DONE(static ssize_t, no_cancel, fid_t fid, void *context)
STCP_NOT_DONE(int, stcp_no_tx_ctx, struct fid_ep *sep, int index,
	      struct fi_tx_attr *attr, struct fid_ep **tx_ep, void *context)
STCP_NOT_DONE(int, stcp_no_rx_ctx, struct fid_ep *sep, int index,
	      struct fi_rx_attr *attr, struct fid_ep **rx_ep, void *context)
STCP_NOT_DONE(ssize_t, stcp_no_size_left, struct fid_ep *ep)

STCP_NOT_DONE(int, stcp_no_setname, fid_t fid, void *addr, size_t addrlen)
STCP_NOT_DONE(static int, no_getname, fid_t fid, void *addr, size_t *addrlen)
STCP_NOT_DONE(int, stcp_no_getpeer, struct fid_ep *ep, void *addr,
	      size_t *addrlen)
STCP_NOT_DONE(int, stcp_no_connect, struct fid_ep *ep, const void *addr,
	      const void *param, size_t paramlen)
STCP_NOT_DONE(int, stcp_no_listen, struct fid_pep *pep)
STCP_NOT_DONE(int, stcp_no_accept, struct fid_ep *ep, const void *param,
	      size_t paramlen)
STCP_NOT_DONE(int, stcp_no_reject, struct fid_pep *pep, fid_t handle,
	      const void *param, size_t paramlen)
STCP_NOT_DONE(int, stcp_no_shutdown, struct fid_ep *ep, uint64_t flags)
STCP_NOT_DONE(int, stcp_no_join, struct fid_ep *ep, const void *addr,
	      uint64_t flags, struct fid_mc **mc, void *context)

STCP_NOT_DONE(static ssize_t, no_trecv, struct fid_ep *ep, void *buf,
	      size_t len, void *desc, fi_addr_t src_addr, uint64_t tag,
	      uint64_t ignore, void *context)
STCP_NOT_DONE(static ssize_t, no_trecvv, struct fid_ep *ep,
	      const struct iovec *iov, void **desc, size_t count,
	      fi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
STCP_NOT_DONE(static ssize_t, no_tmsg, struct fid_ep *ep,
	      const struct fi_msg_tagged *msg, uint64_t flags)
STCP_NOT_DONE(static ssize_t, no_tsend, struct fid_ep *ep, const void *buf,
	      size_t len, void *desc, fi_addr_t dest_addr, uint64_t tag,
	      void *context)
STCP_NOT_DONE(static ssize_t, no_tsendv, struct fid_ep *ep,
	      const struct iovec *iov, void **desc, size_t count,
	      fi_addr_t dest_addr, uint64_t tag, void *context)
STCP_NOT_DONE(static ssize_t, no_tinject, struct fid_ep *ep, const void *buf,
	      size_t len, fi_addr_t dest_addr, uint64_t tag)
STCP_NOT_DONE(static ssize_t, no_tsenddata, struct fid_ep *ep, const void *buf,
	      size_t len, void *desc, uint64_t data, fi_addr_t dest_addr,
	      uint64_t tag, void *context)
STCP_NOT_DONE(static ssize_t, no_tinjectdata, struct fid_ep *ep,
	      const void *buf, size_t len, uint64_t data, fi_addr_t dest_addr,
	      uint64_t tag)

STCP_NOT_DONE(static ssize_t, no_read, struct fid_ep *ep, void *buf, size_t len,
	      void *desc, fi_addr_t src_addr, uint64_t addr, uint64_t key,
	      void *context)
STCP_NOT_DONE(static ssize_t, no_readv, struct fid_ep *ep,
	      const struct iovec *iov, void **desc, size_t count,
	      fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
STCP_NOT_DONE(static ssize_t, no_rma_msg, struct fid_ep *ep,
	      const struct fi_msg_rma *msg, uint64_t flags)
STCP_NOT_DONE(static ssize_t, no_write, struct fid_ep *ep, const void *buf,
	      size_t len, void *desc, fi_addr_t dest_addr, uint64_t addr,
	      uint64_t key, void *context)
STCP_NOT_DONE(static ssize_t, no_writev, struct fid_ep *ep,
	      const struct iovec *iov, void **desc, size_t count,
	      fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
STCP_NOT_DONE(static ssize_t, no_inject, struct fid_ep *ep, const void *buf,
	      size_t len, fi_addr_t dest_addr, uint64_t addr, uint64_t key)
STCP_NOT_DONE(static ssize_t, no_writedata, struct fid_ep *ep, const void *buf,
	      size_t len, void *desc, uint64_t data, fi_addr_t dest_addr,
	      uint64_t addr, uint64_t key, void *context)
STCP_NOT_DONE(static ssize_t, no_injectdata, struct fid_ep *ep, const void *buf,
	      size_t len, uint64_t data, fi_addr_t dest_addr, uint64_t addr,
	      uint64_t key)

STCP_NOT_DONE(static ssize_t, no_atomic, struct fid_ep *ep, const void *buf,
	      size_t count, void *desc, fi_addr_t dest_addr, uint64_t addr,
	      uint64_t key, enum fi_datatype datatype, enum fi_op op,
	      void *context)
STCP_NOT_DONE(static ssize_t, no_atomicv, struct fid_ep *ep,
	      const struct fi_ioc *iov, void **desc, size_t count,
	      fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	      enum fi_datatype datatype, enum fi_op op, void *context)
STCP_NOT_DONE(static ssize_t, no_atomicmsg, struct fid_ep *ep,
	      const struct fi_msg_atomic *msg, uint64_t flags)
STCP_NOT_DONE(static ssize_t, no_inject_atomic, struct fid_ep *ep,
	      const void *buf, size_t count, fi_addr_t dest_addr, uint64_t addr,
	      uint64_t key, enum fi_datatype datatype, enum fi_op op)
STCP_NOT_DONE(static ssize_t, no_fetch, struct fid_ep *ep, const void *buf,
	      size_t count, void *desc, void *result, void *result_desc,
	      fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	      enum fi_datatype datatype, enum fi_op op, void *context)
STCP_NOT_DONE(static ssize_t, no_fetchv, struct fid_ep *ep,
	      const struct fi_ioc *iov, void **desc, size_t count,
	      struct fi_ioc *resultv, void **result_desc, size_t result_count,
	      fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	      enum fi_datatype datatype, enum fi_op op, void *context)
STCP_NOT_DONE(static ssize_t, no_fetchmsg, struct fid_ep *ep,
	      const struct fi_msg_atomic *msg, struct fi_ioc *resultv,
	      void **result_desc, size_t result_count, uint64_t flags)
STCP_NOT_DONE(static ssize_t, no_compare, struct fid_ep *ep, const void *buf,
	      size_t count, void *desc, const void *compare, void *compare_desc,
	      void *result, void *result_desc, fi_addr_t dest_addr,
	      uint64_t addr, uint64_t key, enum fi_datatype datatype,
	      enum fi_op op, void *context)
STCP_NOT_DONE(static ssize_t, no_comparev, struct fid_ep *ep,
	      const struct fi_ioc *iov, void **desc, size_t count,
	      const struct fi_ioc *comparev, void **compare_desc,
	      size_t compare_count, struct fi_ioc *resultv, void **result_desc,
	      size_t result_count, fi_addr_t dest_addr, uint64_t addr,
	      uint64_t key, enum fi_datatype datatype, enum fi_op op,
	      void *context)
STCP_NOT_DONE(static ssize_t, no_comparemsg, struct fid_ep *ep,
	      const struct fi_msg_atomic *msg, const struct fi_ioc *comparev,
	      void **compare_desc, size_t compare_count, struct fi_ioc *resultv,
	      void **result_desc, size_t result_count, uint64_t flags)
STCP_NOT_DONE(static int, no_valid, struct fid_ep *ep,
	      enum fi_datatype datatype, enum fi_op op, size_t *count)

STCP_NOT_DONE(static ssize_t, no_barrier, struct fid_ep *ep,
	      fi_addr_t coll_addr, void *context)
STCP_NOT_DONE(static ssize_t, no_barrier2, struct fid_ep *ep,
	      fi_addr_t coll_addr, uint64_t flags, void *context)
STCP_NOT_DONE(static ssize_t, no_broadcast, struct fid_ep *ep, void *buf,
	      size_t count, void *desc, fi_addr_t coll_addr,
	      fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags,
	      void *context)
STCP_NOT_DONE(static ssize_t, no_all, struct fid_ep *ep, const void *buf,
	      size_t count, void *desc, void *result, void *result_desc,
	      fi_addr_t coll_addr, enum fi_datatype datatype, uint64_t flags,
	      void *context)
STCP_NOT_DONE(static ssize_t, no_all_op, struct fid_ep *ep, const void *buf,
	      size_t count, void *desc, void *result, void *result_desc,
	      fi_addr_t coll_addr, enum fi_datatype datatype, enum fi_op op,
	      uint64_t flags, void *context)
STCP_NOT_DONE(static ssize_t, no_reduce, struct fid_ep *ep, const void *buf,
	      size_t count, void *desc, void *result, void *result_desc,
	      fi_addr_t coll_addr, fi_addr_t root_addr,
	      enum fi_datatype datatype, enum fi_op op, uint64_t flags,
	      void *context)
STCP_NOT_DONE(static ssize_t, no_rooted, struct fid_ep *ep, const void *buf,
	      size_t count, void *desc, void *result, void *result_desc,
	      fi_addr_t coll_addr, fi_addr_t root_addr,
	      enum fi_datatype datatype, uint64_t flags, void *context)
STCP_NOT_DONE(static ssize_t, no_collective_msg, struct fid_ep *ep,
	      const struct fi_msg_collective *msg, struct fi_ioc *resultv,
	      void **result_desc, size_t result_count, uint64_t flags)
/* clang-format on */

int stcp_no_setopt(fid_t fid, int level, int optname, const void *optval,
		   size_t optlen)
{
	return -FI_ENOPROTOOPT;
}

struct fi_ops_ep stcp_no_ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = no_cancel,
	.getopt = stcp_getopt,
	.setopt = stcp_no_setopt,
	.tx_ctx = stcp_no_tx_ctx,
	.rx_ctx = stcp_no_rx_ctx,
	.rx_size_left = stcp_no_size_left,
	.tx_size_left = stcp_no_size_left,
};

struct fi_ops_cm stcp_no_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = stcp_no_setname,
	.getname = no_getname,
	.getpeer = stcp_no_getpeer,
	.connect = stcp_no_connect,
	.listen = stcp_no_listen,
	.accept = stcp_no_accept,
	.reject = stcp_no_reject,
	.shutdown = stcp_no_shutdown,
	.join = stcp_no_join,
};

struct fi_ops_tagged stcp_no_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = no_trecv,
	.recvv = no_trecvv,
	.recvmsg = no_tmsg,
	.send = no_tsend,
	.sendv = no_tsendv,
	.sendmsg = no_tmsg,
	.inject = no_tinject,
	.senddata = no_tsenddata,
	.injectdata = no_tinjectdata,
};

struct fi_ops_rma stcp_no_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = no_read,
	.readv = no_readv,
	.readmsg = no_rma_msg,
	.write = no_write,
	.writev = no_writev,
	.writemsg = no_rma_msg,
	.inject = no_inject,
	.writedata = no_writedata,
	.injectdata = no_injectdata,
};

struct fi_ops_atomic stcp_no_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.write = no_atomic,
	.writev = no_atomicv,
	.writemsg = no_atomicmsg,
	.inject = no_inject_atomic,
	.readwrite = no_fetch,
	.readwritev = no_fetchv,
	.readwritemsg = no_fetchmsg,
	.compwrite = no_compare,
	.compwritev = no_comparev,
	.compwritemsg = no_comparemsg,
	.writevalid = no_valid,
	.readwritevalid = no_valid,
	.compwritevalid = no_valid,
};

struct fi_ops_collective stcp_no_collective_ops = {
	.size = sizeof(struct fi_ops_collective),
	.barrier = no_barrier,
	.broadcast = no_broadcast,
	.alltoall = no_all,
	.allreduce = no_all_op,
	.allgather = no_all,
	.reduce_scatter = no_all_op,
	.reduce = no_reduce,
	.scatter = no_rooted,
	.gather = no_rooted,
	.msg = no_collective_msg,
	.barrier2 = no_barrier2,
};
