// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The schemes of addresses: what there is to know of each, in one table.
 *
 * Context: any.
 */
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
