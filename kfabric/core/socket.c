// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: endpoints that are a datagram socket each, and buffers as sockets know
 * them: see kfi_socket.h.
 */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include <compat.h>

#include <kfabric/kfi_av.h>
#include <kfabric/kfi_socket.h>

void kfi_socket_iter(struct kfi_socket_buf *room, struct iov_iter *iter,
		     unsigned int direction, const struct fi_buf *buf)
{
	struct kfi_buf_iter at;
	struct kfi_seg seg;
	unsigned int n = 0;

	if (buf->type == FI_BUF_LINEAR || !buf->len) {
		room->linear =
			(struct kvec){ buf->ptr + buf->offset, buf->len };
		iov_iter_kvec(iter, direction, &room->linear, 1, buf->len);
		return;
	}
	kfi_buf_start(&at, buf);
	while (n < room->count && kfi_buf_next(&at, room->max, &seg))
		room->pieces[n++] = (struct bio_vec){
			.bv_page = seg.page,
			.bv_offset = seg.offset,
			.bv_len = seg.len,
		};
	iov_iter_bvec(iter, direction, room->pieces, n, buf->len);
}
EXPORT_SYMBOL_GPL(kfi_socket_iter);

int kfi_socket_send(struct kfi_socket_ep *ep, const struct sockaddr_in6 *to,
		    const struct fi_buf *buf)
{
	struct msghdr msg = {
		.msg_name = (void *)to,
		.msg_namelen = kfi_addr_len(to),
		.msg_flags = MSG_DONTWAIT,
	};
	int ret;

	kfi_socket_iter(&ep->buf, &msg.msg_iter, KFI_ITER_SOURCE, buf);
	ret = sock_sendmsg(ep->sock, &msg);
	return min(ret, 0);
}
EXPORT_SYMBOL_GPL(kfi_socket_send);

static struct kfi_socket_ep *to_kfi_socket_ep(struct kfid *fid)
{
	return container_of(fid, struct kfi_socket_ep, post.ep.fid);
}

/* ---- closing ------------------------------------------------------------ */

static void kfi_socket_ep_close(struct kfid *fid)
{
	struct kfi_socket_ep *ep = to_kfi_socket_ep(fid);

	spin_lock_irq(&ep->post.lock);
	ep->closed = true;
	ep->post.broken = true;
	spin_unlock_irq(&ep->post.lock);
	remove_wait_queue(&ep->sock->wq.wait, &ep->wait);
	cancel_delayed_work_sync(&ep->engine);
	ep->ops->end_all(ep);
	sock_release(ep->sock);
	ep->sock = NULL;
}

static void kfi_socket_ep_release(struct kfid *fid)
{
	struct kfi_socket_ep *ep = to_kfi_socket_ep(fid);

	if (ep->sock)
		sock_release(ep->sock);
	kvfree(ep->buf.pieces);
	kvfree(ep->post.slot_mem);
	kfree(ep);
}

/* ---- binding ------------------------------------------------------------ */

static int kfi_socket_ep_control(struct kfid *fid, int command, void *arg)
{
	struct kfi_socket_ep *ep = to_kfi_socket_ep(fid);
	struct sockaddr_storage bound = {};
	int ret;

	if (command != FI_ENABLE)
		return -ENOSYS;
	ret = kernel_bind(ep->sock, (struct sockaddr *)&ep->name,
			  kfi_addr_len(&ep->name));
	if (ret)
		return ret;
	ret = kernel_getsockname(ep->sock, (struct sockaddr *)&bound);
	if (ret < 0)
		return ret;
	if (!kfi_name_set(&ep->name, &bound))
		return -EAFNOSUPPORT;
	spin_lock_irq(&ep->post.lock);
	/* What is read without the lock: the name is there. */
	smp_store_release(&ep->bound, true);
	ep->post.ops->kick(&ep->post);
	spin_unlock_irq(&ep->post.lock);
	return 0;
}

static int kfi_socket_ep_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	struct kfi_socket_ep *ep = to_kfi_socket_ep(fid);

	if (!smp_load_acquire(&ep->bound))
		return -FI_EOPBADSTATE;
	return kfi_copy_addr(&ep->name, addr, addrlen);
}

static const struct fi_ops kfi_socket_ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = kfi_socket_ep_close,
	.release = kfi_socket_ep_release,
	.control = kfi_socket_ep_control,
};

static const struct fi_ops_cm kfi_socket_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = kfi_socket_ep_getname,
};

static const struct kfi_ep_ops kfi_socket_ep_ops = {
	.fid = &kfi_socket_ep_fid_ops,
	.cm = &kfi_socket_cm_ops,
	.msg = &kfi_post_msg_ops,
};

/* ---- opening ------------------------------------------------------------ */

static noinline __noclone int kfi_socket_buf_alloc(struct kfi_socket_buf *room,
						   size_t max_msg_size,
						   size_t iov_limit)
{
	room->max = max_msg_size;
	/* A segment begins and ends anywhere in a page. */
	room->count = max_msg_size / PAGE_SIZE + 2 * iov_limit;
	room->pieces = kvcalloc(room->count, sizeof(*room->pieces), GFP_KERNEL);
	return room->pieces ? 0 : -ENOMEM;
}

int kfi_socket_ep_open(struct kfi_socket_ep *ep, struct fid_domain *domain,
		       const struct fi_info *info, struct fid_ep **fid,
		       void *context)
{
	int ret = ep->ops->open(ep, domain->fabric->net, info);

	ep->post.up = true;
	ret = ret
		      ?: kfi_socket_buf_alloc(&ep->buf, ep->post.max_msg_size,
					      ep->post.tx_attr.iov_limit);
	ret = ret ?: kfi_post_alloc_slots(&ep->post, ep->ops->op_bytes);
	ret = ret
		      ?: kfi_ep_init(&ep->post.ep, domain, info,
				     &kfi_socket_ep_ops, context);
	if (ret) {
		kfi_socket_ep_release(&ep->post.ep.fid);
		return ret;
	}
	add_wait_queue(&ep->sock->wq.wait, &ep->wait);
	*fid = &ep->post.ep;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_socket_ep_open);
