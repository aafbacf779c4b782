// SPDX-License-Identifier: BSD-2-Clause
/* Fresh settings beside those in use: what differs, and the clients' change. */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/config/config.h"

static bool same_addresses(const struct brick_config *a,
			   const struct brick_config *b)
{
	char one[BRICK_URL_BYTES], other[BRICK_URL_BYTES];

	if (a->n_listen != b->n_listen)
		return false;
	for (uint32_t i = 0; i < a->n_listen; i++) {
		brick_address_format(&a->listen[i], 0, one);
		brick_address_format(&b->listen[i], 0, other);
		if (strcmp(one, other))
			return false;
	}
	return true;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_metrics(const struct brick_config *a,
			 const struct brick_config *b)
{
	char one[BRICK_URL_BYTES], other[BRICK_URL_BYTES];

	if (!a->has_metrics || !b->has_metrics)
		return a->has_metrics == b->has_metrics;
	brick_address_format(&a->metrics, 0, one);
	brick_address_format(&b->metrics, 0, other);
	return !strcmp(one, other);
}

const char *brick_config_differs(const struct brick_config *a,
				 const struct brick_config *b)
{
	if (strcmp(a->store, b->store))
		return "store";
	if (!same_text(a->slow, b->slow))
		return "slow";
	if (a->n_pins != b->n_pins ||
	    memcmp(a->pins, b->pins, a->n_pins * sizeof(a->pins[0])))
		return "pin";
	if (!same_addresses(a, b))
		return "listen";
	if (a->auth != b->auth)
		return "auth";
	if (a->persistence != b->persistence)
		return "persistence";
	if (a->ddio != b->ddio)
		return "ddio";
	if (a->has_uuid != b->has_uuid ||
	    memcmp(a->uuid, b->uuid, sizeof(a->uuid)))
		return "uuid";
	if (!same_text(a->admin, b->admin))
		return "admin";
	if (!same_metrics(a, b))
		return "metrics";
	if (memcmp(&a->limits, &b->limits, sizeof(a->limits)))
		return "a limit";
	return NULL;
}

/* A client that is removed is found, too: its name may come back. */
static struct brick_client *find_old_client(const struct brick_config *c,
					    const char *name, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(c->clients[i]->name, name))
			return c->clients[i];
	return NULL;
}

/* The key file's path goes along, so that messages name the right one. */
static void replace_client(struct brick_client *old, struct brick_client *fresh)
{
	char *key_file = old->key_file;

	old->key_file = fresh->key_file;
	fresh->key_file = key_file;
	old->rekeyed = sodium_memcmp(old->key, fresh->key, sizeof(old->key));
	memcpy(old->key, fresh->key, sizeof(old->key));
	old->line = fresh->line;
	old->grants = fresh->grants;
	old->has_quota = fresh->has_quota;
	old->quota_blocks = fresh->quota_blocks;
	old->removed = false;
}

int brick_config_take_clients(struct brick_config *config,
			      struct brick_config *fresh)
{
	uint32_t n = config->n_clients, n_new = 0;
	struct brick_client **list, *old;

	for (uint32_t i = 0; i < fresh->n_clients; i++)
		n_new += !find_old_client(config, fresh->clients[i]->name, n);
	if (n_new > BRICK_CLIENTS_MAX - n)
		return -ENOSPC;
	list = realloc(config->clients, (n + n_new + 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	config->clients = list;
	for (uint32_t i = 0; i < n; i++)
		list[i]->removed = true;
	for (uint32_t i = 0; i < fresh->n_clients; i++) {
		old = find_old_client(config, fresh->clients[i]->name, n);
		if (old) {
			replace_client(old, fresh->clients[i]);
			continue;
		}
		fresh->clients[i]->number = config->n_clients;
		list[config->n_clients++] = fresh->clients[i];
		fresh->clients[i] = fresh->clients[--fresh->n_clients];
		i--;
	}
	return 0;
}
