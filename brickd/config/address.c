// SPDX-License-Identifier: BSD-2-Clause
/* Where a brick listens: parsing and printing. */
#include "brickd/config/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "proto/kfb_wire.h"

void brick_address_format(const struct brick_address *a, unsigned int port,
			  char url[BRICK_URL_BYTES])
{
	bool v6 = strchr(a->host, ':');
	char service[12];

	if (port)
		snprintf(service, sizeof(service), "%u", port);
	else
		snprintf(service, sizeof(service), "%s", a->service);
	snprintf(url, BRICK_URL_BYTES, "%s://%s%s%s%s%s:%s", a->scheme->name,
		 v6 ? "[" : "", a->host, *a->interface ? "%" : "", a->interface,
		 v6 ? "]" : "", service);
}

void brick_peer_format(const struct kfb_scheme *scheme, const void *addr,
		       size_t len, char peer[BRICK_PEER_BYTES])
{
	struct sockaddr_storage ss = { 0 };
	char host[INET6_ADDRSTRLEN] = "?";
	unsigned int port = 0;

	if (addr && len <= sizeof(ss))
		memcpy(&ss, addr, len);
	if (ss.ss_family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)&ss;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		port = ntohs(in->sin_port);
	} else if (ss.ss_family == AF_INET6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;

		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		port = ntohs(in6->sin6_port);
	}
	snprintf(peer, BRICK_PEER_BYTES, "%s[%s]:%u", scheme->name, host, port);
}

/* What listens says in brackets which of several colons is the port's. */
static int take_place(const char *text, struct brick_address *a)
{
	struct kfb_place place;
	int rc = kfb_place_parse(text, &place);

	if (rc)
		return rc;
	if (place.host_len >= BRICK_HOST_BYTES ||
	    (!place.has_brackets && memchr(place.host, ':', place.host_len)))
		return -EINVAL;
	memcpy(a->host, place.host, place.host_len);
	a->host[place.host_len] = '\0';
	(void)snprintf(a->service, sizeof(a->service), "%u",
		       place.has_port ? place.port : KFB_PORT_DEFAULT);
	return 0;
}

/* Takes "%INTERFACE" off the host. */
static int split_interface(struct brick_address *a)
{
	char *at = strchr(a->host, '%');
	size_t len;

	if (!at)
		return 0;
	*at++ = '\0';
	len = strlen(at);
	if (!len || len >= sizeof(a->interface) || strpbrk(at, "%/ \t"))
		return -EINVAL;
	memcpy(a->interface, at, len + 1);
	return 0;
}

static int parse_host(struct brick_address *a)
{
	struct in6_addr in6;
	struct in_addr in4;

	/* RFC 6761: nobody needs to be asked where that is. */
	if (!strcasecmp(a->host, "localhost"))
		memcpy(a->host, "127.0.0.1", sizeof("127.0.0.1"));
	if (inet_pton(AF_INET, a->host, &in4) == 1) {
		a->loopback = ntohl(in4.s_addr) >> 24 == IN_LOOPBACKNET;
		a->wildcard = in4.s_addr == htonl(INADDR_ANY);
		return 0;
	}
	if (inet_pton(AF_INET6, a->host, &in6) == 1) {
		a->loopback = IN6_IS_ADDR_LOOPBACK(&in6);
		a->wildcard = IN6_IS_ADDR_UNSPECIFIED(&in6);
		return 0;
	}
	return -EINVAL;
}

int brick_address_parse(const char *text, struct brick_address *out, char *err,
			size_t err_len)
{
	static const char needs_host[] =
		"\"%s\" needs a numeric host, an IPv6 one in brackets, or "
		"localhost";
	struct brick_address a = { 0 };
	char known[KFB_SCHEMES_BYTES];
	const char *rest;
	int rc;

	a.scheme = kfb_scheme_of(text, &rest);
	if (!a.scheme) {
		snprintf(err, err_len,
			 "\"%s\" has an unknown scheme; the schemes are %s",
			 text, kfb_scheme_names(known));
		return -EINVAL;
	}
	rc = take_place(rest, &a);
	if (rc == -ERANGE)
		snprintf(err, err_len, "\"%s\" has no port from 0 to %d", text,
			 KFB_PORT_MAX);
	else if (rc)
		snprintf(err, err_len, needs_host, text);
	if (rc)
		return -EINVAL;
	if (split_interface(&a)) {
		snprintf(err, err_len,
			 "\"%s\" names no interface behind its %%: "
			 "tcp://10.9.0.1%%wg0 does",
			 text);
		return -EINVAL;
	}
	if (*a.interface && !a.scheme->is_strict) {
		snprintf(err, err_len,
			 "\"%s\": only tcp:// is bound to an interface", text);
		return -EINVAL;
	}
	if (parse_host(&a)) {
		snprintf(err, err_len, needs_host, text);
		return -EINVAL;
	}
	*out = a;
	return 0;
}
