/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which addresses are one peer's when connections are counted by address.
 *
 * Context: any.
 */
#ifndef STCP_PEER_H
#define STCP_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

/* What a host is given of IPv6: it chooses the rest of an address itself. */
#define STCP_NETWORK_BYTES 8

/* An IPv4 address that a socket of both families calls IPv6, or NULL. */
static inline const void *stcp_peer_ipv4(const void *peer)
{
	const struct sockaddr_in6 *in6 = peer;

	if (in6->sin6_family == AF_INET)
		return &((const struct sockaddr_in *)peer)->sin_addr;
	if (in6->sin6_family == AF_INET6 &&
	    IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return &in6->sin6_addr.s6_addr[12];
	return NULL;
}

/**
 * stcp_same_peer - do two addresses count as one?
 * @a: an address
 * @b: another one
 *
 * Return: true when both are one of IPv4, or of one /64 of IPv6.
 */
static inline bool stcp_same_peer(const struct sockaddr_storage *a,
				  const struct sockaddr_storage *b)
{
	const void *a4 = stcp_peer_ipv4(a), *b4 = stcp_peer_ipv4(b);

	if (a4 || b4)
		return a4 && b4 && !memcmp(a4, b4, sizeof(struct in_addr));
	return a->ss_family == AF_INET6 && b->ss_family == AF_INET6 &&
	       !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
		       &((const struct sockaddr_in6 *)b)->sin6_addr,
		       STCP_NETWORK_BYTES);
}

#endif
