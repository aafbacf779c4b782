// SPDX-License-Identifier: BSD-2-Clause
/* Fresh settings beside those in use: what differs, and the clients' change. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/config/config.h"

static bool same_address(const struct brick_address *a,
			 const struct brick_address *b)
{
	char one[BRICK_URL_BYTES], other[BRICK_URL_BYTES];

	brick_address_format(a, 0, one);
	brick_address_format(b, 0, other);
	return !strcmp(one, other);
}

static bool same_addresses(const struct brick_config *a,
			   const struct brick_config *b)
{
	if (a->n_listen != b->n_listen)
		return false;
	for (uint32_t i = 0; i < a->n_listen; i++)
		if (!same_address(&a->listen[i], &b->listen[i]))
			return false;
	return true;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void add_name(char *names, size_t size, const char *name, unsigned int n)
{
	size_t len = strlen(names);

	(void)snprintf(names + len, size - len, "%s%s", n ? ", " : "", name);
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

/* Whose a block is cannot change under those who have it mapped. */
static bool same_groups(const struct brick_config *a,
			const struct brick_config *b)
{
	for (uint32_t i = 0; i < b->n_clients; i++) {
		const struct brick_client *fresh = b->clients[i];
		const struct brick_client *old =
			find_old_client(a, fresh->name, a->n_clients);

		if (old && strcmp(old->group, fresh->group))
			return false;
	}
	return true;
}

unsigned int brick_config_differs(const struct brick_config *a,
				  const struct brick_config *b, char *names,
				  size_t size)
{
	const struct {
		const char *name;
		bool differs;
	} settings[] = {
		{ "store", strcmp(a->store, b->store) != 0 },
		{ "slow", !same_text(a->slow, b->slow) },
		{ "pin", a->n_pins != b->n_pins ||
				 memcmp(a->pins, b->pins,
					a->n_pins * sizeof(a->pins[0])) != 0 },
		{ "listen", !same_addresses(a, b) },
		{ "auth", a->auth != b->auth },
		{ "persistence", a->persistence != b->persistence },
		{ "ddio", a->ddio != b->ddio },
		{ "allow-untrusted-tcp",
		  a->allow_untrusted_tcp != b->allow_untrusted_tcp },
		{ "allow-remote-anonymous",
		  a->allow_remote_anonymous != b->allow_remote_anonymous },
		{ "uuid",
		  a->has_uuid != b->has_uuid ||
			  memcmp(a->uuid, b->uuid, sizeof(a->uuid)) != 0 },
		{ "admin", !same_text(a->admin, b->admin) },
		{ "fences", !same_text(a->fences, b->fences) },
		{ "reservations",
		  !same_text(a->reservations, b->reservations) },
		{ "group", !same_groups(a, b) },
		{ "metrics",
		  a->has_metrics != b->has_metrics ||
			  (a->has_metrics &&
			   !same_address(&a->metrics, &b->metrics)) },
		{ "allow-remote-metrics",
		  a->allow_remote_metrics != b->allow_remote_metrics },
	};
	unsigned int n = 0;
	const char *limit;
	size_t at = 0;

	*names = '\0';
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (settings[i].differs)
			add_name(names, size, settings[i].name, n++);
	while ((limit = brick_config_next_limit(&a->limits, &b->limits, &at)))
		add_name(names, size, limit, n++);
	return n;
}

/* A key that a client had before is the same key, wherever it stands now. */
static void name_keys(struct brick_config *config,
		      const struct brick_client *old,
		      struct brick_client *fresh)
{
	for (uint32_t i = 0; i < fresh->n_keys; i++) {
		struct brick_key *key = &fresh->keys[i];

		key->id = 0;
		for (uint32_t j = 0; old && j < old->n_keys; j++)
			if (!sodium_memcmp(old->keys[j].bytes, key->bytes,
					   sizeof(key->bytes)))
				key->id = old->keys[j].id;
		if (!key->id)
			key->id = ++config->last_key_id;
	}
}

/* The key files' paths go along, so that messages name the right ones. */
static void replace_client(struct brick_client *old, struct brick_client *fresh)
{
	struct brick_key keys[BRICK_KEYS_MAX];

	memcpy(keys, old->keys, sizeof(keys));
	memcpy(old->keys, fresh->keys, sizeof(keys));
	memcpy(fresh->keys, keys, sizeof(keys));
	sodium_memzero(keys, sizeof(keys));
	old->n_keys = fresh->n_keys;
	old->line = fresh->line;
	old->grants = fresh->grants;
	old->has_quota = fresh->has_quota;
	old->quota_blocks = fresh->quota_blocks;
	old->rate = fresh->rate;
	old->is_fencer = fresh->is_fencer;
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
	config->log_level = fresh->log_level;
	for (uint32_t i = 0; i < n; i++)
		list[i]->removed = true;
	for (uint32_t i = 0; i < fresh->n_clients; i++) {
		old = find_old_client(config, fresh->clients[i]->name, n);
		name_keys(config, old, fresh->clients[i]);
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
