// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: datagram sockets, and buffers as they know them: see kfi_socket.h.
 */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include <compat.h>

#include <kfabric/kfi_av.h>
#include <kfabric/kfi_socket.h>

#include "core.h"

int kfi_socket_buf_alloc(struct kfi_socket_buf *room, size_t max_msg_size,
			 size_t iov_limit)
{
	room->max = max_msg_size;
	/* A segment begins and ends anywhere in a page. */
	room->count = max_msg_size / PAGE_SIZE + 2 * iov_limit;
	room->pieces = kvcalloc(room->count, sizeof(*room->pieces), GFP_KERNEL);
	return room->pieces ? 0 : -ENOMEM;
}

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
