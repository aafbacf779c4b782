/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers over the kernel's datagram sockets: their names, what is sent,
 * and a buffer as sockets know it.
 *
 * Context: process; one call at a time for each &struct kfi_socket_buf.
 */
#ifndef KFABRIC_KFI_SOCKET_H
#define KFABRIC_KFI_SOCKET_H

#include <linux/bvec.h>
#include <linux/net.h>
#include <linux/uio.h>

#include <kfabric/kfi_provider.h>

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
 * kfi_socket_buf_alloc() - get room for buffers of a provider
 * @room: zeroed
 * @max_msg_size: bytes of a buffer
 * @iov_limit: segments of it
 *
 * Return: 0; -ENOMEM.
 */
int kfi_socket_buf_alloc(struct kfi_socket_buf *room, size_t max_msg_size,
			 size_t iov_limit);

/**
 * kfi_socket_buf_free() - give it back
 * @room: zeroed, or with memory
 */
void kfi_socket_buf_free(struct kfi_socket_buf *room);

/**
 * kfi_socket_iter() - describe a buffer
 * @room: is used until the next call
 * @iter: out
 * @direction: KFI_ITER_SOURCE: it is sent; KFI_ITER_DEST: it is filled
 * @buf: within the limits that @room was made for
 */
void kfi_socket_iter(struct kfi_socket_buf *room, struct iov_iter *iter,
		     unsigned int direction, const struct fi_buf *buf);

/**
 * kfi_socket_bind() - bind a socket
 * @sock: socket
 * @name: in: where to; out: where it is bound, as kfi_name_set() has it
 *
 * Return: 0; -EAFNOSUPPORT; as kernel_bind().
 */
int kfi_socket_bind(struct socket *sock, struct sockaddr_in6 *name);

/**
 * kfi_socket_send() - send a datagram
 * @sock: socket
 * @room: as for kfi_socket_iter()
 * @to: whom to
 * @buf: the datagram's bytes
 *
 * Return: 0; -EAGAIN, -ENOBUFS, -ENOMEM later perhaps; another -errno: never.
 */
int kfi_socket_send(struct socket *sock, struct kfi_socket_buf *room,
		    const struct sockaddr_in6 *to, const struct fi_buf *buf);

#endif /* KFABRIC_KFI_SOCKET_H */
