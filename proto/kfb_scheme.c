// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The schemes of addresses: what there is to know of each, in one table; and what
 * follows them.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_scheme.h"

/* The first is that of an address that names none. */
static const struct kfb_scheme kfb_schemes[] = {
	{
		.name = "tcp",
		.fabric = "stcp",
		.kernel = "tcp",
		.is_strict = 1,
		.is_fencing = 1,
	},
	{
		.name = "libfabric-tcp", /* the same wire; for tests */
		.fabric = "tcp",
		.kernel = "tcp",
	},
	{
		.name = "verbs",
		.fabric = "verbs",
		.kernel = "verbs",
		.is_rdma = 1,
		.is_fencing = 1,
	},
};

#define KFB_SCHEMES (sizeof(kfb_schemes) / sizeof(kfb_schemes[0]))

const struct kfb_scheme *kfb_scheme_at(__u32 n)
{
	return n < KFB_SCHEMES ? &kfb_schemes[n] : NULL;
}

const struct kfb_scheme *kfb_scheme(const char *name, __u32 len)
{
	__u32 i;

	for (i = 0; i < KFB_SCHEMES; i++)
		if (strlen(kfb_schemes[i].name) == len &&
		    !memcmp(kfb_schemes[i].name, name, len))
			return &kfb_schemes[i];
	return NULL;
}

const struct kfb_scheme *kfb_scheme_of(const char *address, const char **rest)
{
	const struct kfb_scheme *found = &kfb_schemes[0];
	__u32 at;

	for (at = 0; address[at]; at++)
		if (address[at] == ':' && address[at + 1] == '/' &&
		    address[at + 2] == '/') {
			found = kfb_scheme(address, at);
			address += at + strlen("://");
			break;
		}
	if (found)
		*rest = address;
	return found;
}

const char *kfb_scheme_names(char text[KFB_SCHEMES_BYTES])
{
	__u32 at = 0, len, i;

	for (i = 0; i < KFB_SCHEMES; i++) {
		len = (__u32)strlen(kfb_schemes[i].name);
		if (at + sizeof(", ") + len > KFB_SCHEMES_BYTES)
			break;
		if (at) {
			memcpy(text + at, ", ", 2);
			at += 2;
		}
		memcpy(text + at, kfb_schemes[i].name, len);
		at += len;
	}
	text[at] = '\0';
	return text;
}

static int kfb_port_parse(const char *text, __u16 *port)
{
	__u32 value = 0;

	if (!*text)
		return -ERANGE;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -ERANGE;
		value = value * 10 + (__u32)(*text - '0');
		if (value > KFB_PORT_MAX)
			return -ERANGE;
	}
	*port = (__u16)value;
	return 0;
}

int kfb_place_parse(const char *text, struct kfb_place *place)
{
	struct kfb_place p = { .has_brackets = *text == '[' };
	const char *end;
	int rc = 0;

	p.host = text + p.has_brackets;
	end = strchr(p.host, p.has_brackets ? ']' : ':');
	if (!end && p.has_brackets)
		return -EINVAL;
	if (!end || (!p.has_brackets && strchr(end + 1, ':')))
		end = p.host + strlen(p.host);
	p.host_len = (__u32)(end - p.host);
	if (!p.host_len || strcspn(p.host, " \t\r\n/@?#") < p.host_len)
		return -EINVAL;
	end += p.has_brackets;
	p.has_port = *end == ':';
	if (*end && !p.has_port)
		return -EINVAL;
	if (p.has_port)
		rc = kfb_port_parse(end + 1, &p.port);
	if (!rc)
		*place = p;
	return rc;
}
