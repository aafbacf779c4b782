/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a brick listens: "tcp://127.0.0.1:20149", "verbs://[fd00::1]",
 * "tcp://10.9.0.1%wg0".
 */
#ifndef BRICKD_CONFIG_ADDRESS_H
#define BRICKD_CONFIG_ADDRESS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include "proto/kfb_scheme.h"

#define BRICK_HOST_BYTES    64
#define BRICK_SERVICE_BYTES 6
#define BRICK_URL_BYTES	    112
#define BRICK_PEER_BYTES    64

/**
 * struct brick_address - a parsed address
 * @scheme: which fabric
 * @host: numeric IPv4 or IPv6 address, without brackets
 * @service: port, decimal; "0": any free one
 * @interface: by which connections must come; "": by any
 * @loopback: nobody off this host can reach it
 * @wildcard: all addresses of this host
 */
struct brick_address {
	const struct kfb_scheme *scheme;
	char host[BRICK_HOST_BYTES];
	char service[BRICK_SERVICE_BYTES];
	char interface[IF_NAMESIZE];
	bool loopback;
	bool wildcard;
};

/**
 * brick_address_parse - read an address
 * @text: "[SCHEME://]HOST[%INTERFACE][:PORT]", HOST numeric, IPv6 in brackets, with
 *	the interface, or "localhost", which is 127.0.0.1
 * @out: filled on success
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0 or -EINVAL.
 */
int brick_address_parse(const char *text, struct brick_address *out, char *err,
			size_t err_len);

/**
 * brick_address_format - write an address as people write it
 * @address: the address
 * @port: instead of address->service; 0: that
 * @url: BRICK_URL_BYTES
 */
void brick_address_format(const struct brick_address *address,
			  unsigned int port, char url[BRICK_URL_BYTES]);

/**
 * brick_peer_format - say where a connection comes from
 * @scheme: through which fabric
 * @addr: a struct sockaddr of any family, or NULL
 * @len: its size, bytes
 * @peer: BRICK_PEER_BYTES; the host is "?" when it is not known
 */
void brick_peer_format(const struct kfb_scheme *scheme, const void *addr,
		       size_t len, char peer[BRICK_PEER_BYTES]);

#endif
