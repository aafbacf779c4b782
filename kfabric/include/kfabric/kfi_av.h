/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers of unconnected endpoints: the address vector, which is the
 * same for all of them.
 */
#ifndef KFABRIC_KFI_AV_H
#define KFABRIC_KFI_AV_H

#include <linux/in.h>
#include <linux/in6.h>
#include <net/ipv6.h>

#include <kfabric/fi_av.h>
#include <kfabric/kfi_provider.h>

/**
 * kfi_plain_av_open() - an av_open operation to point domain operations at
 * @domain: parent
 * @attr: from fi_av_open(), or NULL
 * @av: out
 * @context: from fi_av_open()
 *
 * Context: process.
 * Return: 0; -EINVAL; -ENOMEM; -ENODEV.
 */
int kfi_plain_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
		      struct fid_av **av, void *context);

/**
 * kfi_name_set() - bring an address into the form that can be compared
 * @to: out: either family; what says nothing of the peer is 0, and IPv4 is not
 *	mapped into IPv6
 * @addr: socket address
 *
 * Context: any.
 * Return: false: it is neither IPv4 nor IPv6, and @to is 0.
 */
bool kfi_name_set(struct sockaddr_in6 *to, const void *addr);

/**
 * kfi_name_is_any() - is it the wildcard address, which is nobody's?
 * @name: of either family, with whatever port
 *
 * Context: any.
 * Return: it is.
 */
static inline bool kfi_name_is_any(const struct sockaddr_in6 *name)
{
	if (name->sin6_family == AF_INET6)
		return ipv6_addr_any(&name->sin6_addr);
	return !((const struct sockaddr_in *)name)->sin_addr.s_addr;
}

/**
 * kfi_av_name() - the address of a number
 * @av: address vector
 * @fi_addr: number
 * @name: out: as kfi_name_set() has it
 *
 * Context: posting.
 * Return: false: it is no number of this vector (any more), or names a receive
 * context other than the first.
 */
bool kfi_av_name(struct fid_av *av, fi_addr_t fi_addr,
		 struct sockaddr_in6 *name);

/**
 * kfi_av_name_ctx() - the address of a number, and the receive context
 * @av: address vector
 * @fi_addr: number
 * @name: out: as kfi_name_set() has it
 * @ctx: out: the receive context that it names
 *
 * Context: posting.
 * Return: false: it is no number of this vector (any more).
 */
bool kfi_av_name_ctx(struct fid_av *av, fi_addr_t fi_addr,
		     struct sockaddr_in6 *name, u8 *ctx);

/**
 * kfi_av_find_again() - the number of an address that was looked for before
 * @av: address vector
 * @name: as kfi_name_set() has it
 * @last: what was found then, which saves the search if it is so still; or
 *	FI_ADDR_UNSPEC
 *
 * Context: posting.
 * Return: the number, or FI_ADDR_UNSPEC.
 */
fi_addr_t kfi_av_find_again(struct fid_av *av, const struct sockaddr_in6 *name,
			    fi_addr_t last);

#endif /* KFABRIC_KFI_AV_H */
