/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which interface packets leave by, and what kind of link that is: TCP carries
 * everything in the open, unless the link below it encrypts.
 *
 * Context: any thread; asks the kernel by rtnetlink, and does not wait for peers.
 */
#ifndef STCP_WAY_H
#define STCP_WAY_H

#include <net/if.h>
#include <stdbool.h>
#include <sys/socket.h>

#define STCP_KIND_BYTES 16

/**
 * struct stcp_way - an interface
 * @index: its number
 * @is_local: what leaves by it stays on this host
 * @name: its name
 * @kind: of its link, such as "wireguard"; "" where the kernel names none, as of
 *	network cards
 */
struct stcp_way {
	unsigned int index;
	bool is_local;
	char name[IF_NAMESIZE];
	char kind[STCP_KIND_BYTES];
};

/**
 * stcp_way_to - the interface by which packets to an address leave now
 * @to: an IPv4 or IPv6 address
 * @out: filled on success
 *
 * By the routes and rules of this moment, for a socket that is bound to nothing.
 * A socket that is to go no other way must be bound to the interface's number.
 *
 * Return: 0, -EHOSTUNREACH (there is no way), -ENODEV, or another negative errno.
 */
int stcp_way_to(const struct sockaddr *to, struct stcp_way *out);

/**
 * stcp_way_by - the interface of that name
 * @name: its name
 * @out: filled on success
 *
 * Return: 0, -ENODEV (there is none), or another negative errno.
 */
int stcp_way_by(const char *name, struct stcp_way *out);

/**
 * stcp_never_leaves - does the address itself say that it is this host's?
 * @addr: an IPv4 or IPv6 address
 *
 * Return: true for 127.0.0.0/8, ::1, and the former in the form of IPv6.
 */
bool stcp_never_leaves(const struct sockaddr *addr);

#endif
