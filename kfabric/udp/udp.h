/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of the udp provider share.
 *
 * A datagram endpoint (FI_EP_DGRAM) is one UDP socket, and a message is one datagram
 * without anything added, as any program with such a socket sends and receives it.
 *
 * Context: posts and the socket's wait queue only queue, and kick the endpoint's
 *	engine, a work, which does all calls into the socket and all completions.
 *	Memory is allocated as in the path of reclaim.
 * Locking: kfi_post_ep.lock (irq-safe) protects the lists; fid_av.lock is taken
 *	under it, and it is taken under the socket's locks, by those who wake. The
 *	socket is not called with it.
 * Lifetime: the engine is kicked only under post.lock while the endpoint is not
 *	closed, and closing waits until it does not run. The socket is the
 *	endpoint's until then; the fabric holds the socket's network namespace.
 */
#ifndef KFABRIC_UDP_H
#define KFABRIC_UDP_H

#include <linux/sizes.h>
#include <linux/workqueue.h>

#include <kfabric/kfi_av.h>
#include <kfabric/kfi_cancel.h>
#include <kfabric/kfi_socket.h>

#define KUDP_NAME	"udp"
#define KUDP_QUEUE_SIZE 256 /* operations per endpoint and direction */
#define KUDP_IOV_LIMIT	16
/* What is left of 16 bits of length behind the headers of IPv4 and UDP (RFC 768, 791). */
#define KUDP_MAX_MSG (U16_MAX - 20 - 8)

/* Of a socket, with what the kernel counts for each datagram. */
#define KUDP_SEND_BYTES SZ_1M
#define KUDP_RECV_BYTES SZ_2M

#define KUDP_BATCH	   64 /* datagrams each way of one run of the engine */
#define KUDP_TICK_MS	   50 /* looks at deadlines while something waits */
#define KUDP_OP_TIMEOUT_MS 10000 /* of what waits for room in the socket */

struct sk_buff;

extern struct workqueue_struct *kudp_wq;

/* An operation: the private part of operation memory, or in a slot of inject. */
struct kudp_op {
	struct kfi_op base; /* its node: the list that it waits on */
	struct sockaddr_in6 to;
	unsigned long deadline; /* jiffies */
};

struct kudp_ep {
	struct kfi_socket_ep base;

	/* under post.lock */
	struct list_head sends; /* the socket has not been given them */
	struct list_head receives;
	struct list_head canceled;

	/* the engine's */
	struct list_head busy; /* what is being sent, or filled */
	struct sk_buff
		*early; /* a datagram whose receive was canceled, or NULL */
	fi_addr_t last_from; /* number of the last sender */
};

static inline struct kudp_ep *to_kudp_ep(struct kfi_post_ep *post)
{
	return container_of(post, struct kudp_ep, base.post);
}

/* socket.c */
int kudp_socket_open(struct net *net, int family, struct socket **sock);
struct sk_buff *kudp_socket_receive(struct kudp_ep *ep);
size_t kudp_datagram_read(struct kudp_ep *ep, struct sk_buff *skb,
			  const struct fi_buf *buf);
void kudp_datagram_from(const struct sk_buff *skb, struct sockaddr_in6 *from);

/* endpoint.c */
int kudp_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **ep, void *context);

/* engine.c */
void kudp_engine(struct work_struct *work);
void kudp_kick(struct kfi_post_ep *post);
void kudp_end_all(struct kfi_socket_ep *base);

#endif /* KFABRIC_UDP_H */
