// SPDX-License-Identifier: BSD-2-Clause
/* Members of an answer. */
#include "brickd/admin/admin_put.h"

#include <inttypes.h>
#include <stdio.h>

#define NS_PER_S 1000000000

void brick_admin_put_text(struct json_object *object, const char *name,
			  const char *text)
{
	json_object_object_add(object, name, json_object_new_string(text));
}

void brick_admin_put_count(struct json_object *object, const char *name,
			   uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

void brick_admin_put_id(struct json_object *object, const char *name,
			uint64_t id)
{
	char text[17];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)id);
	brick_admin_put_text(object, name, text);
}

void brick_admin_put_span(struct json_object *object, struct brick_span span)
{
	char text[sizeof("0x") + 16];

	(void)snprintf(text, sizeof(text), "0x%" PRIx64,
		       span.first << KFB_BLOCK_SHIFT);
	brick_admin_put_text(object, "va", text);
	brick_admin_put_count(object, "n_blocks", span.end - span.first);
}

void brick_admin_put_seconds(struct json_object *object, const char *name,
			     uint64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), "%llu.%09llu",
		 (unsigned long long)(ns / NS_PER_S),
		 (unsigned long long)(ns % NS_PER_S));
	json_object_object_add(object, name,
			       json_object_new_double_s((double)ns / NS_PER_S,
							text));
}
