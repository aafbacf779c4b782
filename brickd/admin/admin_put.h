/* SPDX-License-Identifier: BSD-2-Clause */
/* Members of a reply. */
#ifndef BRICKD_ADMIN_ADMIN_PUT_H
#define BRICKD_ADMIN_ADMIN_PUT_H

#include <json-c/json.h>
#include <stdint.h>

#include "brickd/config/grants.h"

void brick_admin_put_text(struct json_object *object, const char *name,
			  const char *text);
void brick_admin_put_count(struct json_object *object, const char *name,
			   uint64_t value);
/* 16 digits: many readers of JSON cut 64 bits. */
void brick_admin_put_id(struct json_object *object, const char *name,
			uint64_t id);
/* "va" and "n_blocks". */
void brick_admin_put_span(struct json_object *object, struct brick_span span);
/* Nanoseconds, as seconds. */
void brick_admin_put_seconds(struct json_object *object, const char *name,
			     uint64_t ns);

#endif
