// SPDX-License-Identifier: BSD-2-Clause
/*
 * Takes a brick's name apart.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfabric/user/stcp.h"
#include "kfb_wire.h"
#include "url.h"

#define PORT_MAX 65535

static const char *after_scheme(const char *text, struct kfbl_url *url)
{
	static const char *const schemes[] = { "tcp", "libfabric-tcp",
					       "verbs" };
	const char *sep = strstr(text, "://");
	size_t i;

	if (!sep) {
		memcpy(url->provider, schemes[0], sizeof("tcp"));
		return text;
	}
	for (i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t len = strlen(schemes[i]);

		if ((size_t)(sep - text) == len &&
		    !strncmp(text, schemes[i], len)) {
			memcpy(url->provider, schemes[i], len + 1);
			return sep + 3;
		}
	}
	return NULL;
}

static int set_port(const char *text, struct kfbl_url *url)
{
	unsigned long port;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	port = strtoul(text, &end, 10);
	if (errno || *end || !port || port > PORT_MAX)
		return -EINVAL;
	snprintf(url->port, sizeof(url->port), "%lu", port);
	return 0;
}

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

int kfbl_url_parse(const char *text, struct kfbl_url *out)
{
	struct kfbl_url url = { 0 };
	const char *rest;
	const char *end;
	const char *at;
	size_t len;
	int rc = 0;

	at = after_scheme(text, &url);
	if (!at)
		return -EINVAL;
	end = host_end(&at, &rest);
	if (!end)
		return -EINVAL;
	len = (size_t)(end - at);
	if (!len || len > KFBL_HOST_MAX || strcspn(at, " \t\r\n/@?#") < len)
		return -EINVAL;
	memcpy(url.host, at, len);

	if (*rest == ':')
		rc = set_port(rest + 1, &url);
	else if (*rest)
		rc = -EINVAL;
	else
		snprintf(url.port, sizeof(url.port), "%d", KFB_PORT_DEFAULT);
	if (rc)
		return rc;
	snprintf(url.text, sizeof(url.text),
		 strchr(url.host, ':') ? "%s://[%s]:%s" : "%s://%s:%s",
		 url.provider, url.host, url.port);
	*out = url;
	return 0;
}

const char *kfbl_url_fabric(const struct kfbl_url *url)
{
	if (!strcmp(url->provider, "tcp"))
		return STCP_PROVIDER;
	return !strcmp(url->provider, "libfabric-tcp") ? "tcp" : url->provider;
}
