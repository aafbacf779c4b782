/* SPDX-License-Identifier: BSD-2-Clause */
/* Keyrings. */
#ifndef SIM_LINUX_KEY_H
#define SIM_LINUX_KEY_H

#include <linux/err.h>
#include <linux/rwsem.h>
#include <linux/string.h>
#include <linux/types.h>

struct key {
	struct rw_semaphore sem;
	const struct user_key_payload *payload;
};

struct key_type {
	const char *name;
};

struct key *request_key(struct key_type *type, const char *description,
			const char *callout);
void key_put(struct key *key);

#endif
