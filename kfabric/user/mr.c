// SPDX-License-Identifier: BSD-2-Clause
/*
 * Registered memory: keys, the fence, and memory that cannot be had.
 *
 * A key is looked up, with range and access, for each operation of a peer
 * before its first byte moves. Closing a registration takes the key away, then
 * visits each connection of the domain: one that is in the midst of an
 * operation on that memory ends there and then. Bytes are moved only under the
 * connection's lock and while it is up, so when the visit is over no thread
 * can move one any more.
 *
 * A page of a mapping cannot be had where its medium cannot read it, has no room for it
 * on the file system, or ends before it. Whoever touches it gets SIGBUS; a system call
 * fails with EFAULT, so that everything that a peer asks for goes by system calls. Its
 * connection ends, the program goes on, and hears where that was.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "impl.h"

static int compare_keys(const void *a, const void *b)
{
	const struct stcp_mr *x = a, *y = b;

	return (x->fid.key > y->fid.key) - (x->fid.key < y->fid.key);
}

enum tcpw_violation stcp_mr_find(struct stcp_domain *domain,
				 const struct tcpw_seg *seg, uint64_t access,
				 struct stcp_mr **out, uint8_t **at)
{
	const struct stcp_mr named = { .fid.key = seg->key };
	enum tcpw_violation why = TCPW_OK;
	struct stcp_mr **found, *mr;

	pthread_mutex_lock(&domain->mr_lock);
	found = tfind(&named, &domain->mrs, compare_keys);
	mr = found ? *found : NULL;
	if (!mr)
		why = TCPW_BAD_KEY;
	else if (!(mr->access & access))
		why = TCPW_BAD_ACCESS;
	else if (seg->addr > mr->len || seg->bytes > mr->len - seg->addr)
		why = TCPW_BAD_RANGE;
	if (!why) {
		*out = mr;
		*at = mr->base + seg->addr;
	}
	pthread_mutex_unlock(&domain->mr_lock);
	return why;
}

static bool op_uses(const struct stcp_op *op, const struct stcp_mr *mr)
{
	if (!op || op->kind != STCP_RESPONSE)
		return false;
	for (int i = 0; i < TCPW_SEGS_MAX; i++)
		if (op->mrs[i] == mr)
			return true;
	return false;
}

/* The caller holds the endpoint's lock. */
static bool ep_uses(const struct stcp_ep *ep, const struct stcp_mr *mr)
{
	const struct stcp_op *op;

	for (int i = 0; i < TCPW_SEGS_MAX; i++)
		if (ep->place_mr[i] == mr)
			return true;
	TAILQ_FOREACH(op, &ep->answers, link)
	if (op_uses(op, mr))
		return true;
	return op_uses(ep->sending, mr);
}

static int mr_close(struct fid *fid)
{
	struct stcp_mr *mr = stcp_container_of(fid, struct stcp_mr, fid.fid);
	struct stcp_domain *domain = mr->domain;
	struct stcp_ep *ep;

	if (stcp_is_inherited(domain->fabric))
		return 0;
	pthread_mutex_lock(&domain->mr_lock);
	(void)tdelete(mr, &domain->mrs, compare_keys);
	pthread_mutex_unlock(&domain->mr_lock);
	pthread_mutex_lock(&domain->lock);
	LIST_FOREACH(ep, &domain->eps, domain_link)
	{
		pthread_mutex_lock(&ep->lock);
		if (ep_uses(ep, mr))
			stcp_ep_end(ep, FI_EACCES, TCPW_BAD_KEY);
		pthread_mutex_unlock(&ep->lock);
	}
	pthread_mutex_unlock(&domain->lock);
	free(mr);
	return 0;
}

static struct fi_ops mr_fid_ops =
	STCP_FID_OPS(mr_close, stcp_no_bind, stcp_no_control, stcp_no_ops_open);

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access,
		  uint64_t offset, uint64_t requested_key, uint64_t flags,
		  struct fid_mr **out, void *context)
{
	struct stcp_mr **found, *mr;
	int rc = 0;

	if (fid->fclass != FI_CLASS_DOMAIN || offset || flags)
		return -FI_EINVAL;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	stcp_fid_init(&mr->fid.fid, FI_CLASS_MR, &mr_fid_ops, context);
	mr->fid.key = requested_key;
	mr->domain = stcp_container_of(fid, struct stcp_domain, fid.fid);
	mr->base = (uint8_t *)(uintptr_t)buf;
	mr->len = len;
	mr->access = access;
	pthread_mutex_lock(&mr->domain->mr_lock);
	found = tsearch(mr, &mr->domain->mrs, compare_keys);
	if (!found)
		rc = -FI_ENOMEM;
	else if (*found != mr)
		rc = -FI_ENOKEY;
	pthread_mutex_unlock(&mr->domain->mr_lock);
	if (rc)
		free(mr);
	else
		*out = &mr->fid;
	return rc;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count,
		   uint64_t access, uint64_t offset, uint64_t requested_key,
		   uint64_t flags, struct fid_mr **mr, void *context)
{
	if (count != 1)
		return -FI_EINVAL;
	return mr_reg(fid, iov->iov_base, iov->iov_len, access, offset,
		      requested_key, flags, mr, context);
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr,
		      uint64_t flags, struct fid_mr **mr)
{
	return mr_regv(fid, attr->mr_iov, attr->iov_count, attr->access,
		       attr->offset, attr->requested_key, flags, mr,
		       attr->context);
}

struct fi_ops_mr stcp_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};

/* ---- memory that cannot be had, under the endpoint's lock ----------------- */

/* Pages: as many as a system call can have found missing, of the usual size. */
#define LOOKS_MAX 64
_Static_assert(STCP_STAGE_BYTES < LOOKS_MAX * 4096,
	       "all of what comes with a header is looked at");

/*
 * The first page that cannot be had, as far as they are looked at, which takes room for
 * each; NULL: it is not among these, or there again.
 */
static void *find_missing(const struct iovec *iov, size_t n, bool is_written)
{
	int advice = is_written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
	uintptr_t bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	unsigned int n_left = LOOKS_MAX;

	for (size_t i = 0; i < n; i++) {
		uintptr_t at = (uintptr_t)iov[i].iov_base;
		uintptr_t end = at + iov[i].iov_len;

		for (; at < end && n_left; n_left--) {
			uintptr_t page = at & ~(bytes - 1);

			if (madvise((void *)page, bytes, advice) &&
			    (errno == EFAULT || errno == EHWPOISON))
				return (void *)at;
			at = page + bytes;
		}
	}
	return NULL;
}

size_t stcp_place(uint8_t *to, const uint8_t *from, size_t n)
{
	struct iovec there = { to, n }, here = { (void *)(uintptr_t)from, n };
	ssize_t placed;

	/*
	 * Of the two sides it is the local one that is written to as by any system
	 * call; pages of the remote one are taken as they are, without asking their
	 * file system before they change.
	 */
	placed = process_vm_readv(gettid(), &there, 1, &here, 1, 0);
	if (placed >= 0)
		return (size_t)placed;
	/* Else a kernel without it, or a filter of system calls. */
	if (errno == EFAULT || find_missing(&there, 1, true))
		return 0;
	memcpy(to, from, n);
	return n;
}

void stcp_ep_fault(struct stcp_ep *ep, const struct iovec *iov, size_t n,
		   bool is_written)
{
	void *missing = find_missing(iov, n, is_written);

	/* Else where they begin. */
	if (!missing && n)
		missing = iov[0].iov_base;
	atomic_store(&ep->fault, missing);
	stcp_ep_end(ep, EFAULT, TCPW_OK);
}
