/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: domains, buffers, memory regions.
 *
 * A domain is one protection domain: a key of one domain opens nothing in
 * another.
 */
#ifndef KFABRIC_FI_DOMAIN_H
#define KFABRIC_FI_DOMAIN_H

#include <linux/bvec.h>
#include <linux/scatterlist.h>
#include <linux/types.h>
#include <linux/uio.h>

#include <kfabric/fabric.h>
#include <kfabric/fi_eq.h>

struct fi_atomic_attr;
struct fi_av_attr;

/**
 * enum fi_buf_type - how a buffer is described
 * @FI_BUF_NONE: no bytes
 * @FI_BUF_LINEAR: one kernel virtual range
 * @FI_BUF_KVEC: array of kernel virtual ranges
 * @FI_BUF_BVEC: array of page ranges, as in a bio
 * @FI_BUF_SG: scatterlist (may be chained), not mapped for DMA
 */
enum fi_buf_type {
	FI_BUF_NONE,
	FI_BUF_LINEAR,
	FI_BUF_KVEC,
	FI_BUF_BVEC,
	FI_BUF_SG,
};

/**
 * struct fi_buf - a local buffer
 * @type: which member of the union describes the buffer
 * @count: segments in the array or list (1 for FI_BUF_LINEAR)
 * @offset: bytes to skip from the start of the first segment on; may reach
 *	beyond it (a bio's bi_bvec_done)
 * @len: bytes of the buffer, after @offset; must be there
 * @ptr: FI_BUF_LINEAR
 * @kvec: FI_BUF_KVEC
 * @bvec: FI_BUF_BVEC
 * @sg: FI_BUF_SG
 *
 * Virtual ranges may be kmalloc(), vmalloc() or lowmem page memory; not the
 * stack. The struct itself is copied by the post; the array it points to and
 * the bytes belong to the operation until its completion (with FI_INJECT:
 * until the post returns).
 */
struct fi_buf {
	enum fi_buf_type type;
	u32 count;
	size_t offset;
	size_t len;
	union {
		void *ptr;
		const struct kvec *kvec;
		const struct bio_vec *bvec;
		struct scatterlist *sg;
	};
};

/**
 * fi_buf_linear() - describe one kernel virtual range
 * @ptr: start
 * @len: bytes
 *
 * Context: any.
 * Return: the description.
 */
static inline struct fi_buf fi_buf_linear(const void *ptr, size_t len)
{
	return (struct fi_buf){ .type = FI_BUF_LINEAR,
				.count = 1,
				.len = len,
				.ptr = (void *)ptr };
}

/**
 * fi_buf_kvec() - describe an array of kernel virtual ranges
 * @kvec: the array, must outlive the operation
 * @count: entries of the array
 * @len: bytes in all
 *
 * Context: any.
 * Return: the description.
 */
static inline struct fi_buf fi_buf_kvec(const struct kvec *kvec, u32 count,
					size_t len)
{
	return (struct fi_buf){
		.type = FI_BUF_KVEC, .count = count, .len = len, .kvec = kvec
	};
}

/**
 * fi_buf_bvec() - describe an array of page ranges
 * @bvec: the array, must outlive the operation
 * @count: entries of the array
 * @offset: bytes to skip, as bi_iter.bi_bvec_done
 * @len: bytes in all, as bi_iter.bi_size
 *
 * Context: any.
 * Return: the description.
 */
static inline struct fi_buf fi_buf_bvec(const struct bio_vec *bvec, u32 count,
					size_t offset, size_t len)
{
	return (struct fi_buf){ .type = FI_BUF_BVEC,
				.count = count,
				.offset = offset,
				.len = len,
				.bvec = bvec };
}

/**
 * fi_buf_sg() - describe a scatterlist
 * @sg: first entry, must outlive the operation
 * @nents: entries
 * @len: bytes in all
 *
 * Context: any.
 * Return: the description.
 */
static inline struct fi_buf fi_buf_sg(struct scatterlist *sg, u32 nents,
				      size_t len)
{
	return (struct fi_buf){
		.type = FI_BUF_SG, .count = nents, .len = len, .sg = sg
	};
}

/**
 * struct fi_mr_attr - a memory region to be
 * @buf: the memory; must stay until fi_close() of the region
 * @access: FI_REMOTE_READ, FI_REMOTE_WRITE, FI_ATOMIC, or some of them
 * @iova: with FI_MR_VIRT_ADDR: address that peers use for the first byte
 *	(0: the kernel virtual address for FI_BUF_LINEAR); else peers count
 *	from 0 and this is ignored
 * @requested_key: without FI_MR_PROV_KEY: the key; unique in the domain
 * @context: stored in the object
 * @commit: makes @len bytes at @offset from the start persistent, for
 *	FI_COMMIT_COMPLETE and FI_FLUSH_COMMIT of peers; returns 0 or -errno.
 *	NULL: such operations of peers fail. Context: process
 */
struct fi_mr_attr {
	struct fi_buf buf;
	u64 access;
	u64 iova;
	u64 requested_key;
	void *context;
	int (*commit)(struct fid_mr *mr, u64 offset, size_t len);
};

/**
 * struct fid_mr - memory region
 * @fid: base
 * @domain: where it was registered
 * @key: what peers must name
 * @iova: address of the first byte for peers
 * @len: bytes
 */
struct fid_mr {
	struct kfid fid;
	struct fid_domain *domain;
	u64 key;
	u64 iova;
	size_t len;
	/* private: core */
	struct fid_ep *ep; /* bound, or NULL */
};

/**
 * struct fi_ops_domain - operations of a domain
 * @size: sizeof this struct
 * @endpoint: see fi_endpoint()
 * @cq_open: see fi_cq_open()
 * @mr_regattr: see fi_mr_regattr()
 * @av_open: see fi_av_open(), in fi_av.h
 * @scalable_ep: see fi_scalable_ep(), in fi_scalable.h
 * @query_atomic: see fi_query_atomic(), in fi_atomic.h; @datatype and @op are of
 *	&enum fi_datatype and &enum fi_op
 * @srx_context: see fi_srx_context(), in fi_shared.h
 */
struct fi_ops_domain {
	size_t size;
	int (*endpoint)(struct fid_domain *domain, struct fi_info *info,
			struct fid_ep **ep, void *context);
	int (*cq_open)(struct fid_domain *domain, struct fi_cq_attr *attr,
		       struct fid_cq **cq, void *context);
	int (*mr_regattr)(struct fid_domain *domain,
			  const struct fi_mr_attr *attr, u64 flags,
			  struct fid_mr **mr);
	int (*av_open)(struct fid_domain *domain, struct fi_av_attr *attr,
		       struct fid_av **av, void *context);
	int (*scalable_ep)(struct fid_domain *domain, struct fi_info *info,
			   struct fid_ep **sep, void *context);
	int (*query_atomic)(struct fid_domain *domain, unsigned int datatype,
			    unsigned int op, struct fi_atomic_attr *attr,
			    u64 flags);
	int (*srx_context)(struct fid_domain *domain,
			   const struct fi_rx_attr *attr, struct fid_ep **srx,
			   void *context);
};

/**
 * struct fid_domain - protection domain on one device
 * @fid: base
 * @ops: operations
 * @fabric: parent
 * @mr_mode: FI_MR_* that regions of this domain need
 */
struct fid_domain {
	struct kfid fid;
	const struct fi_ops_domain *ops;
	struct fid_fabric *fabric;
	u32 mr_mode;
};

int kfabric_domain(struct fid_fabric *fabric, struct fi_info *info,
		   struct fid_domain **domain, void *context);
int kfabric_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		    struct fid_cq **cq, void *context);
int kfabric_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		       u64 flags, struct fid_mr **mr);

/**
 * fi_domain() - open a protection domain
 * @fabric: parent
 * @info: from fi_getinfo() or a connection request of the same fabric
 * @domain: out
 * @context: stored in the object
 *
 * Context: process.
 * Return: 0; -ENODEV the device is gone; -EINVAL @info is of another
 * provider; -ENOMEM; -ENOSYS.
 */
static inline int fi_domain(struct fid_fabric *fabric, struct fi_info *info,
			    struct fid_domain **domain, void *context)
{
	return kfabric_domain(fabric, info, domain, context);
}

/**
 * fi_cq_open() - open a completion queue
 * @domain: parent
 * @attr: attributes; NULL: no upcall
 * @cq: out
 * @context: stored in the object and given to the upcall
 *
 * Context: process.
 * Return: 0; -EOPNOTSUPP upcalls cannot run where attr->comp_context wants
 * them; -EINVAL there is no such format, or an upcall for each completion and
 * something for readers; -ENODEV; -ENOMEM; -ENOSYS.
 */
static inline int fi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
			     struct fid_cq **cq, void *context)
{
	return kfabric_cq_open(domain, attr, cq, context);
}

/**
 * fi_mr_regattr() - let peers reach memory
 * @domain: parent; only peers of its endpoints may use the key
 * @attr: memory and access
 * @flags: 0, or FI_RMA_PMEM if the memory is persistent
 * @mr: out
 *
 * Local buffers of operations need no registration. With FI_MR_ENDPOINT the
 * region works only after fi_mr_bind() and fi_mr_enable().
 *
 * Context: process.
 * Return: 0; -EINVAL access, buffer or count is senseless; -E2BIG more than
 * mr_iov_limit segments or mr_max_size bytes; -EEXIST the key is in use in
 * this domain; -FI_EBADFLAGS; -EOPNOTSUPP there are no atomic operations, or no rights
 * without others; -ENODEV; -ENOMEM; -ENOSYS.
 */
static inline int fi_mr_regattr(struct fid_domain *domain,
				const struct fi_mr_attr *attr, u64 flags,
				struct fid_mr **mr)
{
	return kfabric_mr_regattr(domain, attr, flags, mr);
}

/**
 * fi_mr_reg() - let peers reach one kernel virtual range
 * @domain: parent
 * @buf: start
 * @len: bytes
 * @access: see &struct fi_mr_attr
 * @offset: 0, as in libfabric
 * @requested_key: see &struct fi_mr_attr
 * @flags: 0 or FI_RMA_PMEM
 * @mr: out
 * @context: stored in the object
 *
 * Context: process.
 * Return: as fi_mr_regattr(); -EINVAL also if @offset is not 0.
 */
static inline int fi_mr_reg(struct fid_domain *domain, const void *buf,
			    size_t len, u64 access, u64 offset,
			    u64 requested_key, u64 flags, struct fid_mr **mr,
			    void *context)
{
	struct fi_mr_attr attr = { .buf = fi_buf_linear(buf, len),
				   .access = access,
				   .requested_key = requested_key,
				   .context = context };

	return offset ? -EINVAL : kfabric_mr_regattr(domain, &attr, flags, mr);
}

/**
 * fi_mr_key() - key that peers must name
 * @mr: region; with FI_MR_ENDPOINT after fi_mr_enable()
 *
 * Context: any.
 * Return: the key.
 */
static inline u64 fi_mr_key(struct fid_mr *mr)
{
	return READ_ONCE(mr->key);
}

/**
 * fi_mr_bind() - tell which endpoint's peer will use a region
 * @mr: region
 * @bfid: endpoint's base
 * @flags: 0
 *
 * Needed before fi_mr_enable() in domains with FI_MR_ENDPOINT; elsewhere
 * allowed and without effect. The endpoint must not be closed before the
 * region.
 *
 * Context: process.
 * Return: 0; -EINVAL not an endpoint of the same domain; -EBUSY bound
 * already; -ENODEV.
 */
static inline int fi_mr_bind(struct fid_mr *mr, struct kfid *bfid, u64 flags)
{
	return kfabric_bind(&mr->fid, bfid, flags);
}

/**
 * fi_mr_enable() - make a bound region usable
 * @mr: region, bound to a connected endpoint
 *
 * Context: process.
 * Return: 0 (also where it is not needed); -FI_EOPBADSTATE not bound, or the
 * endpoint is not connected; -EIO; -ENODEV.
 */
static inline int fi_mr_enable(struct fid_mr *mr)
{
	return kfabric_control(&mr->fid, FI_ENABLE, NULL);
}

#endif /* KFABRIC_FI_DOMAIN_H */
