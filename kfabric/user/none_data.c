// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tables of operations on data that an object does not have. libfabric's inline
 * functions do not ask whether a table is there.
 */
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>

#include "impl.h"

#define NOT_DONE(type, name, ...)                        \
	static type name(struct fid_ep *ep, __VA_ARGS__) \
	{                                                \
		return -FI_ENOSYS;                       \
	}

/* clang-format off */
NOT_DONE(ssize_t, no_read, void *buf, size_t len, void *desc,
	 fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
NOT_DONE(ssize_t, no_readv, const struct iovec *iov, void **desc, size_t count,
	 fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
NOT_DONE(ssize_t, no_rma_msg, const struct fi_msg_rma *msg, uint64_t flags)
NOT_DONE(ssize_t, no_write, const void *buf, size_t len, void *desc,
	 fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
NOT_DONE(ssize_t, no_writev, const struct iovec *iov, void **desc, size_t count,
	 fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
NOT_DONE(ssize_t, no_inject, const void *buf, size_t len, fi_addr_t dest_addr,
	 uint64_t addr, uint64_t key)
NOT_DONE(ssize_t, no_writedata, const void *buf, size_t len, void *desc,
	 uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	 void *context)
NOT_DONE(ssize_t, no_injectdata, const void *buf, size_t len, uint64_t data,
	 fi_addr_t dest_addr, uint64_t addr, uint64_t key)

NOT_DONE(ssize_t, no_atomic, const void *buf, size_t count, void *desc,
	 fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	 enum fi_datatype datatype, enum fi_op op, void *context)
NOT_DONE(ssize_t, no_atomicv, const struct fi_ioc *iov, void **desc,
	 size_t count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	 enum fi_datatype datatype, enum fi_op op, void *context)
NOT_DONE(ssize_t, no_atomicmsg, const struct fi_msg_atomic *msg, uint64_t flags)
NOT_DONE(ssize_t, no_inject_atomic, const void *buf, size_t count,
	 fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	 enum fi_datatype datatype, enum fi_op op)
NOT_DONE(ssize_t, no_fetch, const void *buf, size_t count, void *desc,
	 void *result, void *result_desc, fi_addr_t dest_addr, uint64_t addr,
	 uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
NOT_DONE(ssize_t, no_fetchv, const struct fi_ioc *iov, void **desc,
	 size_t count, struct fi_ioc *resultv, void **result_desc,
	 size_t result_count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	 enum fi_datatype datatype, enum fi_op op, void *context)
NOT_DONE(ssize_t, no_fetchmsg, const struct fi_msg_atomic *msg,
	 struct fi_ioc *resultv, void **result_desc, size_t result_count,
	 uint64_t flags)
NOT_DONE(ssize_t, no_compare, const void *buf, size_t count, void *desc,
	 const void *compare, void *compare_desc, void *result,
	 void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	 enum fi_datatype datatype, enum fi_op op, void *context)
NOT_DONE(ssize_t, no_comparev, const struct fi_ioc *iov, void **desc,
	 size_t count, const struct fi_ioc *comparev, void **compare_desc,
	 size_t compare_count, struct fi_ioc *resultv, void **result_desc,
	 size_t result_count, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
	 enum fi_datatype datatype, enum fi_op op, void *context)
NOT_DONE(ssize_t, no_comparemsg, const struct fi_msg_atomic *msg,
	 const struct fi_ioc *comparev, void **compare_desc,
	 size_t compare_count, struct fi_ioc *resultv, void **result_desc,
	 size_t result_count, uint64_t flags)
NOT_DONE(int, no_valid, enum fi_datatype datatype, enum fi_op op, size_t *count)

NOT_DONE(ssize_t, no_barrier, fi_addr_t coll_addr, void *context)
NOT_DONE(ssize_t, no_barrier2, fi_addr_t coll_addr, uint64_t flags,
	 void *context)
NOT_DONE(ssize_t, no_broadcast, void *buf, size_t count, void *desc,
	 fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype,
	 uint64_t flags, void *context)
NOT_DONE(ssize_t, no_all, const void *buf, size_t count, void *desc,
	 void *result, void *result_desc, fi_addr_t coll_addr,
	 enum fi_datatype datatype, uint64_t flags, void *context)
NOT_DONE(ssize_t, no_all_op, const void *buf, size_t count, void *desc,
	 void *result, void *result_desc, fi_addr_t coll_addr,
	 enum fi_datatype datatype, enum fi_op op, uint64_t flags,
	 void *context)
NOT_DONE(ssize_t, no_reduce, const void *buf, size_t count, void *desc,
	 void *result, void *result_desc, fi_addr_t coll_addr,
	 fi_addr_t root_addr, enum fi_datatype datatype, enum fi_op op,
	 uint64_t flags, void *context)
NOT_DONE(ssize_t, no_rooted, const void *buf, size_t count, void *desc,
	 void *result, void *result_desc, fi_addr_t coll_addr,
	 fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags,
	 void *context)
NOT_DONE(ssize_t, no_collective_msg, const struct fi_msg_collective *msg,
	 struct fi_ioc *resultv, void **result_desc, size_t result_count,
	 uint64_t flags)
/* clang-format on */

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
