// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: what a peer's bytes do to memory: local buffers that wait
 * for them, and regions.
 *
 * Context: ktcp_commit() may sleep; the rest runs in softirq, too.
 * Locking: the socket's lock for ktcp_place(); domain.mr_lock is taken for
 *	each piece of a region, so that the close of a region waits for one
 *	piece at most and is seen by the next.
 */
#include <linux/err.h>
#include <linux/highmem.h>
#include <linux/minmax.h>
#include <linux/skbuff.h>

#include "tcp.h"

static struct ktcp_domain *ktcp_domain_of(struct ktcp_ep *ep)
{
	return to_ktcp_domain(ep->post.ep.domain);
}

/* Return the region of a piece of what a peer names, or NULL. */
static struct ktcp_mr *ktcp_mr_find(struct ktcp_domain *d,
				    const struct tcpw_seg *seg, u64 offset,
				    u64 len, u64 access)
{
	const struct fi_rma_iov range = {
		.addr = seg->addr + offset,
		.len = len,
		.key = seg->key,
	};
	struct kfi_table_mr *m;

	lockdep_assert_held(&d->mr_lock);
	m = kfi_mr_table_find(&d->mrs, &range, access);
	return IS_ERR(m) ? NULL : container_of(m, struct ktcp_mr, t);
}

enum tcpw_violation ktcp_check_segs(struct ktcp_ep *ep,
				    const struct tcpw_hdr *hdr, u64 access)
{
	struct ktcp_domain *d = ktcp_domain_of(ep);
	enum tcpw_violation why = TCPW_OK;
	u32 i;

	read_lock_bh(&d->mr_lock);
	for (i = 0; i < hdr->n_segs && !why; i++)
		if (!ktcp_mr_find(d, &hdr->segs[i], 0, hdr->segs[i].bytes,
				  access))
			why = TCPW_BAD_KEY;
	read_unlock_bh(&d->mr_lock);
	return why;
}

/* Copy from the socket into a buffer, page by page. */
static int ktcp_copy_in(struct kfi_buf_iter *it, struct sk_buff *skb,
			int offset, u32 len)
{
	struct kfi_buf_iter at;
	struct kfi_seg seg;
	void *page;
	int ret;

	while (len) {
		at = *it;
		if (!kfi_buf_next(&at, len, &seg))
			return -EFAULT;
		seg.len = min_t(size_t, seg.len, PAGE_SIZE - seg.offset);
		page = kmap_local_page(seg.page);
		ret = skb_copy_bits(skb, offset, page + seg.offset, seg.len);
		kunmap_local(page);
		if (ret)
			return ret;
		kfi_buf_advance(it, seg.len);
		offset += seg.len;
		len -= seg.len;
	}
	return 0;
}

/* Find a position in a region; it is valid as long as the lock is held. */
static int ktcp_find_piece(struct ktcp_domain *d, const struct tcpw_seg *seg,
			   u64 offset, u32 len, u64 access,
			   struct kfi_buf_iter *it)
{
	struct ktcp_mr *m = ktcp_mr_find(d, seg, offset, len, access);

	if (!m)
		return -EACCES;
	kfi_buf_start(it, &m->t.attr.buf);
	kfi_buf_advance(it, seg->addr + offset);
	return 0;
}

/* Put payload where the receive machine wants it; len is not more than that. */
int ktcp_place(struct ktcp_ep *ep, struct sk_buff *skb, int offset, u32 len,
	       const struct tcpw_want *want)
{
	const struct tcpw_hdr *hdr = &ep->r.rx.hdr;
	struct ktcp_domain *d = ktcp_domain_of(ep);
	struct kfi_buf_iter it;
	int ret;

	if (hdr->op != TCPW_WRITE)
		return ktcp_copy_in(&ep->r.it, skb, offset, len);
	read_lock_bh(&d->mr_lock);
	ret = ktcp_find_piece(d, &hdr->segs[want->seg], want->offset, len,
			      FI_REMOTE_WRITE, &it);
	ret = ret ?: ktcp_copy_in(&it, skb, offset, len);
	read_unlock_bh(&d->mr_lock);
	return ret;
}

/* Copy the bytes of a region that a peer reads. */
int ktcp_fetch(struct ktcp_ep *ep, const struct tcpw_seg *seg, u64 offset,
	       u8 *to, u32 len)
{
	struct fi_buf buf = fi_buf_linear(to, len);
	struct ktcp_domain *d = ktcp_domain_of(ep);
	struct kfi_buf_iter src, dst;
	int ret;

	kfi_buf_start(&dst, &buf);
	read_lock_bh(&d->mr_lock);
	ret = ktcp_find_piece(d, seg, offset, len, FI_REMOTE_READ, &src);
	if (!ret && kfi_buf_copy(&dst, &src, len) != len)
		ret = -EFAULT;
	read_unlock_bh(&d->mr_lock);
	return ret;
}

int ktcp_commit(struct ktcp_ep *ep, const struct tcpw_hdr *hdr)
{
	struct ktcp_domain *d = ktcp_domain_of(ep);
	struct ktcp_mr *m;
	int ret = 0;
	u32 i;

	for (i = 0; i < hdr->n_segs && !ret; i++) {
		/* Keep a region from closing while commit() runs. */
		read_lock_bh(&d->mr_lock);
		m = ktcp_mr_find(d, &hdr->segs[i], 0, hdr->segs[i].bytes,
				 FI_REMOTE_WRITE);
		if (m)
			atomic_inc(&m->committing);
		read_unlock_bh(&d->mr_lock);
		if (!m)
			return -EACCES;
		ret = m->t.attr.commit
			      ? m->t.attr.commit(&m->t.mr, hdr->segs[i].addr,
						 hdr->segs[i].bytes)
			      : -EOPNOTSUPP;
		if (atomic_dec_and_test(&m->committing))
			wake_up_all(&d->commits);
	}
	return ret;
}
