// SPDX-License-Identifier: BSD-2-Clause
/*
 * Takes a brick's name apart.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfb_wire.h"
#include "url.h"

#define PORT_MAX 65535

/* The end of the host in @text, and where a port may begin. */
static const char *host_end(const char **text, const char **rest)
{
	const char *end;

	if (**text == '[') {
		(*text)++;
		end = strchr(*text, ']');
		if (end)
			*rest = end + 1;
		return end;
	}
	end = strchr(*text, ':');
	/* More than one colon without brackets: an address without port. */
	if (!end || strchr(end + 1, ':'))
		end = *text + strlen(*text);
	*rest = end;
	return end;
}

static int parse_host_port(const char *at, struct kfbl_url *url)
{
	unsigned long port = KFB_PORT_DEFAULT;
	const char *rest;
	const char *end;
	char *behind;
	size_t len;

	end = host_end(&at, &rest);
	if (!end)
		return -EINVAL;
	len = (size_t)(end - at);
	if (!len || len > KFBL_HOST_MAX || strcspn(at, " \t\r\n/@?#") < len)
		return -EINVAL;
	memcpy(url->host, at, len);
	if (*rest) {
		if (*rest != ':' || rest[1] < '0' || rest[1] > '9')
			return -EINVAL;
		errno = 0;
		port = strtoul(rest + 1, &behind, 10);
		if (errno || *behind || !port || port > PORT_MAX)
			return -EINVAL;
	}
	snprintf(url->port, sizeof(url->port), "%lu", port);
	return 0;
}

int kfbl_url_parse(const char *text, struct kfbl_url *out, char *why,
		   size_t why_size)
{
	struct kfbl_url url = { 0 };
	char known[KFB_SCHEMES_BYTES];
	const char *rest;

	url.scheme = kfb_scheme_of(text, &rest);
	if (!url.scheme || parse_host_port(rest, &url)) {
		snprintf(
			why, why_size,
			"\"%s\" names no brick: SCHEME://HOST[:PORT] does, and "
			"the schemes are %s",
			text, kfb_scheme_names(known));
		return -EINVAL;
	}
	snprintf(url.text, sizeof(url.text),
		 strchr(url.host, ':') ? "%s://[%s]:%s" : "%s://%s:%s",
		 url.scheme->name, url.host, url.port);
	*out = url;
	return 0;
}
