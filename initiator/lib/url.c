// SPDX-License-Identifier: BSD-2-Clause
/*
 * Takes a brick's name apart.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kfb_wire.h"
#include "url.h"

int kfbl_url_parse(const char *text, struct kfbl_url *out, char *why,
		   size_t why_size)
{
	struct kfbl_url url = { 0 };
	char known[KFB_SCHEMES_BYTES];
	struct kfb_place place;
	const char *rest;

	url.scheme = kfb_scheme_of(text, &rest);
	if (!url.scheme || kfb_place_parse(rest, &place) ||
	    place.host_len > KFBL_HOST_MAX || (place.has_port && !place.port)) {
		snprintf(
			why, why_size,
			"\"%s\" names no brick: SCHEME://HOST[:PORT] does, and "
			"the schemes are %s",
			text, kfb_scheme_names(known));
		return -EINVAL;
	}
	memcpy(url.host, place.host, place.host_len);
	snprintf(url.port, sizeof(url.port), "%u",
		 place.has_port ? place.port : KFB_PORT_DEFAULT);
	snprintf(url.text, sizeof(url.text),
		 strchr(url.host, ':') ? "%s://[%s]:%s" : "%s://%s:%s",
		 url.scheme->name, url.host, url.port);
	*out = url;
	return 0;
}
