/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers over the kernel's datagram sockets: a buffer as sockets know
 * it, and endpoints that are a socket each.
 *
 * Context: process; one call at a time for each &struct kfi_socket_buf.
 */
#ifndef KFABRIC_KFI_SOCKET_H
#define KFABRIC_KFI_SOCKET_H

#include <linux/bvec.h>
#include <linux/net.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <kfabric/kfi_post.h>

/**
 * struct kfi_socket_buf - room to describe one buffer
 * @pieces: of the buffer, each within physically contiguous pages
 * @count: how many pieces there may be
 * @max: bytes of a buffer
 * @linear: a buffer that is one piece
 */
struct kfi_socket_buf {
	struct bio_vec *pieces;
	unsigned int count;
	size_t max;
	struct kvec linear;
};

/**
 * kfi_socket_iter() - describe a buffer
 * @room: is used until the next call
 * @iter: out
 * @direction: KFI_ITER_SOURCE: it is sent; KFI_ITER_DEST: it is filled
 * @buf: within the limits that @room was made for
 */
void kfi_socket_iter(struct kfi_socket_buf *room, struct iov_iter *iter,
		     unsigned int direction, const struct fi_buf *buf);

struct kfi_socket_ep;

/**
 * struct kfi_socket_ep_ops - what the provider does with endpoints that are a socket
 * @open: set their socket, and the name that it is to be bound to: 0, or -errno
 * @end_all: end every operation, when nobody runs the engine any more but this
 * @op_bytes: of the provider's operation, which begins with struct kfi_op
 */
struct kfi_socket_ep_ops {
	int (*open)(struct kfi_socket_ep *ep, struct net *net,
		    const struct fi_info *info);
	void (*end_all)(struct kfi_socket_ep *ep);
	size_t op_bytes;
};

/**
 * struct kfi_socket_ep - endpoint that is a datagram socket; heads the provider's
 * @post: posts of the endpoint, whose operations have &kfi_post_ops.kick
 * @ops: the provider's part
 * @sock: socket of the endpoint, until that is closed
 * @wait: of the socket's; the function kicks @engine
 * @engine: gives the socket what was posted, and takes what came
 * @name: to bind to; where it is bound
 * @buf: what the engine describes buffers in
 * @bound: the socket is bound to @name; set under post.lock
 * @closed: the engine is not to be kicked any more; under post.lock
 */
struct kfi_socket_ep {
	struct kfi_post_ep post;
	const struct kfi_socket_ep_ops *ops;
	struct socket *sock;
	wait_queue_entry_t wait;
	struct delayed_work engine;
	struct sockaddr_in6 name;
	struct kfi_socket_buf buf;
	bool bound;
	bool closed;
};

/**
 * kfi_socket_ep_open() - make an endpoint that is a socket
 * @ep: heads memory of kzalloc(), which is the endpoint's from now on, also on failure;
 *	@ep->ops, @ep->wait, @ep->engine and the limits of @ep->post are set
 * @domain: of the endpoint
 * @info: of it
 * @fid: out
 * @context: of its user
 *
 * Return: 0; -ENOMEM; as @ep->ops->open() and kfi_ep_init().
 */
int kfi_socket_ep_open(struct kfi_socket_ep *ep, struct fid_domain *domain,
		       const struct fi_info *info, struct fid_ep **fid,
		       void *context);

/**
 * kfi_socket_send() - send a datagram
 * @ep: endpoint
 * @to: whom to
 * @buf: the datagram's bytes
 *
 * Return: 0; -EAGAIN, -ENOBUFS, -ENOMEM later perhaps; another -errno: never.
 */
int kfi_socket_send(struct kfi_socket_ep *ep, const struct sockaddr_in6 *to,
		    const struct fi_buf *buf);

#endif /* KFABRIC_KFI_SOCKET_H */
