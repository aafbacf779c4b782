/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers: infos, and the addresses in them.
 */
#ifndef KFABRIC_KFI_INFO_H
#define KFABRIC_KFI_INFO_H

#include <linux/in.h>
#include <linux/in6.h>

#include <kfabric/fabric.h>

/*
 * What a reliable queue pair keeps, and who executes in the order of a stream but sends
 * a read's bytes when their turn comes: all but what comes behind a read.
 */
#define KFI_ORDER_QUEUE_PAIR                                         \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAW | \
	 FI_ORDER_WAS | FI_ORDER_SAW | FI_ORDER_SAS)

/**
 * kfi_match_info() - does an info fulfil hints?
 * @info: what there is
 * @hints: what is needed, or NULL
 *
 * Names, types and formats must be equal where the hints name one, caps,
 * completion levels and orders contained, limits large enough. With FI_RMA in the hints'
 * caps, whatever mr_mode the provider demands must be in the hints' mr_mode.
 *
 * Context: any.
 * Return: true if so.
 */
bool kfi_match_info(const struct fi_info *info, const struct fi_info *hints);

/**
 * kfi_obey_hints() - take over wishes that any provider can follow
 * @info: gets them: time-outs, default flags of operations, FI_SHARED_CONTEXT if
 *	there are such contexts; has the provider's usual time-outs, which the core's
 *	parameters override
 * @hints: of fi_getinfo(), or NULL
 *
 * Context: any.
 */
void kfi_obey_hints(struct fi_info *info, const struct fi_info *hints);

/**
 * kfi_resolve() - addresses from node, service and hints
 * @node: numeric address, or NULL
 * @service: decimal port, or NULL
 * @flags: of fi_getinfo()
 * @hints: whose addresses are taken for what node and service leave out
 * @info: out: src_addr, dest_addr and their lengths, addr_format
 *
 * A @service without @node is the wildcard address with FI_SOURCE, and the
 * loopback address without.
 *
 * Context: process.
 * Return: 0; -EINVAL malformed; -ENOMEM. @info is untouched on failure.
 */
int kfi_resolve(const char *node, const char *service, u64 flags,
		const struct fi_info *hints, struct fi_info *info);

/**
 * kfi_info_answer() - what getinfo() of a provider with one info ends with
 * @info: what there is; becomes the answer, or is freed
 * @node: of getinfo()
 * @service: of getinfo()
 * @flags: of getinfo()
 * @hints: of getinfo()
 * @list: out: @info
 *
 * kfi_obey_hints(), and kfi_resolve() unless no addresses are wanted.
 *
 * Context: process.
 * Return: 0; as kfi_resolve().
 */
int kfi_info_answer(struct fi_info *info, const char *node, const char *service,
		    u64 flags, const struct fi_info *hints,
		    struct fi_info **list);

/**
 * kfi_info_set_addr() - replace an address of an info
 * @addr: &info->src_addr or &info->dest_addr
 * @addrlen: the field with the length of @addr
 * @from: new address, copied; NULL: none
 * @len: bytes of @from
 *
 * Context: process.
 * Return: 0; -ENOMEM.
 */
int kfi_info_set_addr(void **addr, size_t *addrlen, const void *from,
		      size_t len);

/**
 * kfi_info_to_peer() - the info of a connection request
 * @info: of the passive endpoint
 * @addr: the peer's, copied
 * @len: bytes of @addr
 *
 * Context: process.
 * Return: a copy of @info that leads to @addr; NULL: no memory.
 */
struct fi_info *kfi_info_to_peer(const struct fi_info *info, const void *addr,
				 size_t len);

/**
 * kfi_addr_len() - bytes of a socket address
 * @addr: IPv4 or IPv6
 *
 * Context: any.
 * Return: bytes.
 */
static inline size_t kfi_addr_len(const void *addr)
{
	const struct sockaddr *sa = addr;

	return sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					 : sizeof(struct sockaddr_in);
}

/**
 * kfi_copy_addr() - the answer of fi_getname() and fi_getpeer()
 * @from: socket address, IPv4 or IPv6
 * @addr: out
 * @addrlen: in: bytes of @addr; out: of @from
 *
 * Context: any.
 * Return: 0; -FI_ETOOSMALL @addr is untouched.
 */
int kfi_copy_addr(const void *from, void *addr, size_t *addrlen);

#endif /* KFABRIC_KFI_INFO_H */
