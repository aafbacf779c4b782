/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a brick's address begins, and which provider that means: of libfabric,
 * and of the kernel; and what follows, a host and a port.
 *
 * Whoever treats providers differently asks here, so that a provider is added
 * by a row.
 *
 * Context: any.
 */
#ifndef KFB_SCHEME_H
#define KFB_SCHEME_H

#include <linux/types.h>

/* "name, name, ..." of all schemes, with its NUL. */
#define KFB_SCHEMES_BYTES 64

/**
 * struct kfb_scheme - one way to reach a brick
 * @name: as people write it, before "://"
 * @fabric: the provider, as fi_getinfo() and stcp know it
 * @kernel: the provider of kfabric that speaks the same wire; NULL: none does
 * @is_rdma: devices move the bytes: they are not on a path that others read,
 *	memory is pinned, and a device has a name and an address of its own
 * @is_strict: our own provider, with what it adds to libfabric (docs/stcp.md)
 * @is_fencing: once a registration is closed nothing arrives through it
 */
struct kfb_scheme {
	const char *name;
	const char *fabric;
	const char *kernel;
	_Bool is_rdma;
	_Bool is_strict;
	_Bool is_fencing;
};

/**
 * kfb_scheme_at - one scheme after the other
 * @n: 0: that of an address that names none
 *
 * Context: any.
 * Return: its row, or NULL: there are no more.
 */
const struct kfb_scheme *kfb_scheme_at(__u32 n);

/**
 * kfb_scheme - the scheme of that name
 * @name: without "://"; need not end there
 * @len: bytes of it
 *
 * Context: any.
 * Return: its row, or NULL: there is none.
 */
const struct kfb_scheme *kfb_scheme(const char *name, __u32 len);

/**
 * kfb_scheme_of - the scheme of an address
 * @address: "SCHEME://REST", or "REST" alone: that is tcp
 * @rest: what follows; untouched on failure
 *
 * Context: any.
 * Return: its row, or NULL: the address names one that is not known.
 */
const struct kfb_scheme *kfb_scheme_of(const char *address, const char **rest);

/**
 * kfb_scheme_names - all of them, for a message
 * @text: KFB_SCHEMES_BYTES
 *
 * Context: any.
 * Return: @text.
 */
const char *kfb_scheme_names(char text[KFB_SCHEMES_BYTES]);

#define KFB_PORT_MAX 65535

/**
 * struct kfb_place - where an address leads
 * @host: without brackets, and without a NUL behind it
 * @host_len: bytes of @host
 * @port: 0 where there is none
 * @has_port: the address has a port
 * @has_brackets: around the host
 */
struct kfb_place {
	const char *host;
	__u32 host_len;
	__u16 port;
	_Bool has_port;
	_Bool has_brackets;
};

/**
 * kfb_place_parse - take HOST[:PORT] apart
 * @text: what kfb_scheme_of() has left; several colons without brackets are those of
 *	an IPv6 address without a port
 * @place: untouched on failure
 *
 * Context: any.
 * Return: 0, -EINVAL (no host, or none that could be one), -ERANGE (no port from 0
 * to KFB_PORT_MAX behind the colon).
 */
int kfb_place_parse(const char *text, struct kfb_place *place);

#endif
