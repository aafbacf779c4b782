// SPDX-License-Identifier: BSD-2-Clause
/*
 * The configuration under random bytes: it is taken or refused, with a message
 * of one line that names file and line; what is taken has sane limits.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_taken(const struct brick_config *c)
{
	if (c->limits.credits < KFB_CREDITS_MIN ||
	    c->limits.credits > KFB_CREDITS_MAX ||
	    c->limits.map_extent_max_bytes > KFB_MAP_EXTENT_MAX_BYTES)
		abort();
	for (uint32_t i = 0; i < c->n_clients; i++) {
		const struct brick_client *client = c->clients[i];
		const struct brick_grants *g = &client->grants;

		if (client->quota_blocks > KFB_QUOTA_MAX ||
		    (client->quota_blocks && !client->has_quota))
			abort();
		if (!kfb_rate_ok(&client->rate))
			abort();
		if (!*client->name || !client->owner ||
		    brick_config_client(c, client->name) != client)
			abort();
		for (uint32_t j = 1; j < g->n_ro; j++)
			if (g->ro[j - 1].end >= g->ro[j].first)
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[BRICK_ERR_BYTES] = "";
	struct brick_config config;
	FILE *file;

	if (!size)
		return 0;
	file = fmemopen((void *)(uintptr_t)data, size, "r");
	if (!file)
		return 0;
	brick_config_init(&config);
	if (brick_config_read(&config, file, "fuzz", err, sizeof(err))) {
		if (strncmp(err, "fuzz:", 5) || strchr(err, '\n'))
			abort();
	} else {
		check_taken(&config);
		(void)brick_config_check(&config, err, sizeof(err));
	}
	fclose(file);
	brick_config_fini(&config);
	return 0;
}
