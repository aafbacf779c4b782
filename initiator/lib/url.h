/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A brick's name: tcp://host[:port], verbs://host[:port] or host[:port] (tcp).
 * libfabric-tcp://host[:port] is the same wire through libfabric's own provider;
 * it is there for tests.
 */
#ifndef KFBRICK_URL_H
#define KFBRICK_URL_H

#include <stddef.h>

#include "kfb_scheme.h"

#define KFBL_HOST_MAX 255

struct kfbl_url {
	const struct kfb_scheme *scheme;
	char host[KFBL_HOST_MAX + 1]; /* without brackets */
	char port[8]; /* decimal */
	char text[KFBL_HOST_MAX + 32]; /* as a complete URL, for messages */
};

/**
 * kfbl_url_parse - take a brick's name apart
 * @text: the name
 * @out: untouched on failure
 * @why: on failure what is wrong with it, and what would be right
 * @why_size: bytes of it
 *
 * An IPv6 address needs brackets when a port follows: tcp://[::1]:20149.
 *
 * Return: 0, or -EINVAL.
 */
int kfbl_url_parse(const char *text, struct kfbl_url *out, char *why,
		   size_t why_size);

#endif
