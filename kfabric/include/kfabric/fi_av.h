/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: address vectors.
 *
 * An address vector (AV) gives numbers to the addresses of peers, for endpoints
 * that are not connected. A number has the place of the address in the vector and
 * how often the place was used before, so that one whose address was removed is
 * known as such. Of a vector that was opened so the uppermost bits of a number name
 * a receive context of the peer, for messages to scalable endpoints (fi_scalable.h).
 */
#ifndef KFABRIC_FI_AV_H
#define KFABRIC_FI_AV_H

#include <linux/in6.h>
#include <linux/mutex.h>

#include <kfabric/fabric.h>
#include <kfabric/fi_domain.h>

/* Most addresses of one vector. */
#define KFI_AV_MAX (1U << 20)

/* Most bits of a number that name a receive context: fi_rx_addr(). */
#define KFI_AV_RX_CTX_BITS_MAX 8

/* Room that the text of any address fits into: fi_av_straddr(). */
#define FI_AV_TEXT_BYTES 64

/**
 * struct fi_av_attr - attributes of an address vector
 * @count: addresses expected, a hint; it grows
 * @rx_ctx_bits: bits of a number that name a receive context, up to
 *	KFI_AV_RX_CTX_BITS_MAX
 */
struct fi_av_attr {
	size_t count;
	u32 rx_ctx_bits;
};

/* private: a place of the vector. */
struct kfi_av_slot {
	struct sockaddr_in6 name; /* see kfi_name_set() */
	u32 used; /* how often, the upper half of its number */
	u32 refs; /* insertions; 0: free */
	u32 next; /* free, or of the same hash */
};

/**
 * struct fid_av - address vector
 * @fid: base
 * @domain: where it was opened
 * @rx_ctx_bits: of its attributes
 */
struct fid_av {
	struct kfid fid;
	struct fid_domain *domain;
	u32 rx_ctx_bits;
	/* private: core */
	struct mutex mutex; /* of those who change it; taken first */
	spinlock_t lock; /* irq-safe; protects what follows */
	struct kfi_av_slot *slots;
	u32 *heads; /* of hash chains, as many as slots */
	u32 capacity; /* a power of 2 */
	u32 free;
};

int kfabric_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
		    struct fid_av **av, void *context);
int kfabric_av_insert(struct fid_av *av, const void *addr, size_t count,
		      fi_addr_t *fi_addr);
int kfabric_av_insertsvc(struct fid_av *av, const char *node,
			 const char *service, fi_addr_t *fi_addr);
int kfabric_av_remove(struct fid_av *av, const fi_addr_t *fi_addr,
		      size_t count);
int kfabric_av_lookup(struct fid_av *av, fi_addr_t fi_addr, void *addr,
		      size_t *addrlen);
const char *kfabric_av_straddr(const void *addr, char *buf, size_t *len);

/**
 * fi_av_open() - open an address vector
 * @domain: parent
 * @attr: attributes, or NULL for none
 * @av: out
 * @context: stored in the object
 *
 * Context: process.
 * Return: 0; -EINVAL attr->count is beyond KFI_AV_MAX, or attr->rx_ctx_bits beyond
 * KFI_AV_RX_CTX_BITS_MAX; -ENODEV; -ENOMEM; -ENOSYS
 * endpoints of this domain are connected.
 */
static inline int fi_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
			     struct fid_av **av, void *context)
{
	return kfabric_av_open(domain, attr, av, context);
}

/**
 * fi_rx_addr() - the number of a receive context of a peer
 * @fi_addr: the peer's
 * @rx_index: of the context; that of @fi_addr itself is 0
 * @rx_ctx_bits: of the attributes of its vector
 *
 * Context: any.
 * Return: the number. It is for sends, and for writes with FI_REMOTE_CQ_DATA; other
 * operations that have a number of a peer take it as well, of a receive only that
 * of context 0 names a sender. FI_ADDR_UNSPEC: there is no such context.
 */
static inline fi_addr_t fi_rx_addr(fi_addr_t fi_addr, u32 rx_index,
				   u32 rx_ctx_bits)
{
	if (rx_ctx_bits > KFI_AV_RX_CTX_BITS_MAX || rx_index >> rx_ctx_bits)
		return FI_ADDR_UNSPEC;
	return rx_index ? (u64)rx_index << (64 - rx_ctx_bits) | fi_addr
			: fi_addr;
}

/**
 * fi_av_insert() - give numbers to addresses
 * @av: address vector
 * @addr: socket addresses, IPv4 or IPv6, one behind the other without gaps
 * @count: their number
 * @fi_addr: out: a number for each; FI_ADDR_UNSPEC for one that is none, or
 *	that there is no memory for
 * @flags: 0
 * @context: unused, as most callers of libfabric have it; pass NULL
 *
 * An address that is there already keeps its number, and must be removed as
 * often as it was inserted. An address that is none, of which nobody knows how
 * long it is, ends the list.
 *
 * Context: process.
 * Return: how many have a number; -FI_EBADFLAGS; -ENODEV.
 */
static inline int fi_av_insert(struct fid_av *av, const void *addr,
			       size_t count, fi_addr_t *fi_addr, u64 flags,
			       void *context)
{
	return flags ? -FI_EBADFLAGS
		     : kfabric_av_insert(av, addr, count, fi_addr);
}

/**
 * fi_av_insertsvc() - give a number to the address of a node and service
 * @av: address vector
 * @node: numeric IPv4 or IPv6 address; NULL: the loopback address
 * @service: decimal port
 * @fi_addr: out: its number
 * @flags: 0
 * @context: unused; pass NULL
 *
 * Context: process.
 * Return: 1; -EINVAL @node or @service is malformed or missing; -ENOMEM;
 * -ENOSPC the vector is full; -FI_EBADFLAGS; -ENODEV.
 */
static inline int fi_av_insertsvc(struct fid_av *av, const char *node,
				  const char *service, fi_addr_t *fi_addr,
				  u64 flags, void *context)
{
	return flags ? -FI_EBADFLAGS
		     : kfabric_av_insertsvc(av, node, service, fi_addr);
}

/**
 * fi_av_remove() - take numbers back
 * @av: address vector
 * @fi_addr: numbers of addresses
 * @count: how many numbers @fi_addr has
 * @flags: 0
 *
 * Operations that were posted go to the address nevertheless.
 *
 * Context: process.
 * Return: 0; -EINVAL one of them is none: those before it are taken back;
 * -FI_EBADFLAGS.
 */
static inline int fi_av_remove(struct fid_av *av, const fi_addr_t *fi_addr,
			       size_t count, u64 flags)
{
	return flags ? -FI_EBADFLAGS : kfabric_av_remove(av, fi_addr, count);
}

/**
 * fi_av_lookup() - the address of a number
 * @av: address vector
 * @fi_addr: number, of any receive context
 * @addr: out: socket address
 * @addrlen: in: bytes at @addr; out: bytes of the address, also on
 *	-FI_ETOOSMALL
 *
 * Context: posting.
 * Return: 0; -EINVAL @fi_addr is none (any more); -FI_ETOOSMALL.
 */
static inline int fi_av_lookup(struct fid_av *av, fi_addr_t fi_addr, void *addr,
			       size_t *addrlen)
{
	return kfabric_av_lookup(av, fi_addr, addr, addrlen);
}

/**
 * fi_av_straddr() - text of an address
 * @av: address vector
 * @addr: socket address
 * @buf: out: text, cut if it does not fit
 * @len: in: bytes at @buf; out: bytes of the whole text with its end
 *
 * Context: any.
 * Return: @buf.
 */
static inline const char *fi_av_straddr(struct fid_av *av, const void *addr,
					char *buf, size_t *len)
{
	return kfabric_av_straddr(addr, buf, len);
}

#endif /* KFABRIC_FI_AV_H */
