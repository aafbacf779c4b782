// SPDX-License-Identifier: BSD-2-Clause
/* One request on the admin socket: json-c reads, this looks at the members. */
#include "brickd/admin/admin_request.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "brickd/base/util.h"
#include "proto/kfb_text.h"

/* A request is flat; arrays and objects inside are for ops to come. */
#define DEPTH_MAX  4
#define HEX_DIGITS 16

static const char *const op_names[BRICK_ADMIN_OPS] = {
	[BRICK_ADMIN_INFO] = "info",	 [BRICK_ADMIN_SESSIONS] = "sessions",
	[BRICK_ADMIN_STATS] = "stats",	 [BRICK_ADMIN_EVICT] = "evict",
	[BRICK_ADMIN_TIER] = "tier",	 [BRICK_ADMIN_CLIENTS] = "clients",
	[BRICK_ADMIN_MAPPED] = "mapped",
};

static const char *const tier_names[BRICK_ADMIN_TIER_WHATS] = {
	[BRICK_ADMIN_TIER_SHOW] = "show",
	[BRICK_ADMIN_TIER_PIN] = "pin",
	[BRICK_ADMIN_TIER_UNPIN] = "unpin",
	[BRICK_ADMIN_TIER_DEMOTE] = "demote",
	[BRICK_ADMIN_TIER_PROMOTE] = "promote",
	[BRICK_ADMIN_TIER_JOB] = "job",
	[BRICK_ADMIN_TIER_CANCEL] = "cancel",
};

static int parse_json(const char *line, size_t len, struct json_object **out,
		      const char **why)
{
	struct json_tokener *t = json_tokener_new_ex(DEPTH_MAX);
	struct json_object *object;

	if (!t) {
		*why = "out of memory";
		return -ENOMEM;
	}
	json_tokener_set_flags(t, JSON_TOKENER_STRICT |
					  JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(t, line, (int)len);
	if (json_tokener_get_error(t) != json_tokener_success ||
	    json_tokener_get_parse_end(t) != len ||
	    !json_object_is_type(object, json_type_object)) {
		json_object_put(object);
		object = NULL;
	}
	json_tokener_free(t);
	if (!object) {
		*why = "a line is one JSON object";
		return -EBADMSG;
	}
	*out = object;
	return 0;
}

/* A member that is a string without NUL, or NULL. */
static const char *text_of(struct json_object *object, const char *name)
{
	struct json_object *member;
	const char *text;

	if (!json_object_object_get_ex(object, name, &member) ||
	    !json_object_is_type(member, json_type_string))
		return NULL;
	text = json_object_get_string(member);
	return strlen(text) == (size_t)json_object_get_string_len(member)
		       ? text
		       : NULL;
}

static int parse_id(const char *text, uint64_t *id)
{
	uint64_t value = 0;
	size_t n = 0;

	for (; text[n]; n++) {
		const char *digits = "0123456789abcdef";
		const char *digit = strchr(digits, text[n]);

		if (!digit || n == HEX_DIGITS)
			return -EINVAL;
		value = value << 4 | (uint64_t)(digit - digits);
	}
	if (!value)
		return -EINVAL;
	*id = value;
	return 0;
}

/* Return: 0 also when there is no such member. */
static int take_id(struct json_object *object, const char *name, uint64_t *id)
{
	const char *text = text_of(object, name);

	if (!json_object_object_get_ex(object, name, NULL))
		return 0;
	return text ? parse_id(text, id) : -EINVAL;
}

static int take_client(struct json_object *object,
		       struct brick_admin_request *r)
{
	const char *text = text_of(object, "client");

	if (!json_object_object_get_ex(object, "client", NULL))
		return 0;
	if (!text || !*text || strlen(text) >= sizeof(r->client))
		return -EINVAL;
	memcpy(r->client, text, strlen(text) + 1);
	return 0;
}

static bool take_count(struct json_object *object, const char *name,
		       uint64_t *count)
{
	struct json_object *member;

	if (!json_object_object_get_ex(object, name, &member) ||
	    !json_object_is_type(member, json_type_int) ||
	    json_object_get_int64(member) <= 0)
		return false;
	*count = json_object_get_uint64(member);
	return true;
}

/* A member that is VA+N. Return: 0 also when there is no such member. */
static int take_range(struct json_object *object, const char *name,
		      uint64_t *va, uint64_t *n_blocks)
{
	const char *text = text_of(object, name);
	__u64 first, n;

	if (!json_object_object_get_ex(object, name, NULL))
		return 0;
	if (!text || kfb_range_parse(text, &first, &n, NULL))
		return -EINVAL;
	*va = first;
	*n_blocks = n;
	return 0;
}

static int take_tier(struct json_object *object, struct brick_admin_request *r,
		     const char **why)
{
	const char *what = text_of(object, "do");
	unsigned int i = BRICK_ADMIN_TIER_SHOW;

	if (json_object_object_get_ex(object, "do", NULL))
		for (i = 0; i < BRICK_ADMIN_TIER_WHATS; i++)
			if (what && !strcmp(tier_names[i], what))
				break;
	if (i == BRICK_ADMIN_TIER_WHATS) {
		*why = "\"do\" is show, pin, unpin, demote, promote, job or "
		       "cancel";
		return -EINVAL;
	}
	r->tier = (enum brick_admin_tier_what)i;
	if (r->tier == BRICK_ADMIN_TIER_SHOW)
		return 0;
	if (r->tier == BRICK_ADMIN_TIER_JOB ||
	    r->tier == BRICK_ADMIN_TIER_CANCEL) {
		*why = "\"job\" is a number";
		return take_count(object, "job", &r->job) ? 0 : -EINVAL;
	}
	*why = "\"range\" is VA+N";
	if (take_range(object, "range", &r->va, &r->n_blocks) || !r->n_blocks)
		return -EINVAL;
	return 0;
}

static int take_mapped(struct json_object *object,
		       struct brick_admin_request *r, const char **why)
{
	const char *text = text_of(object, "after"), *slash;
	char va_text[sizeof("0x") + HEX_DIGITS];
	__u64 va, n_shown;

	*why = "\"range\" is VA+N";
	if (take_range(object, "range", &r->va, &r->n_blocks))
		return -EINVAL;
	if (!json_object_object_get_ex(object, "after", NULL))
		return 0;
	*why = "\"after\" is what \"next\" was";
	slash = text ? strchr(text, '/') : NULL;
	if (!slash || (size_t)(slash - text) >= sizeof(va_text))
		return -EINVAL;
	memcpy(va_text, text, (size_t)(slash - text));
	va_text[slash - text] = '\0';
	if (kfb_size_parse(va_text, &va, NULL) ||
	    kfb_size_parse(slash + 1, &n_shown, NULL) || !n_shown)
		return -EINVAL;
	r->after = va;
	r->n_shown = n_shown;
	return 0;
}

static int take_members(struct json_object *object,
			struct brick_admin_request *r, const char **why)
{
	const char *op = text_of(object, "op");
	unsigned int i = 0;

	while (op && i < BRICK_ADMIN_OPS && strcmp(op_names[i], op))
		i++;
	if (!op || i == BRICK_ADMIN_OPS) {
		*why = op ? "there is no such op" : "\"op\" is missing";
		return op ? -EOPNOTSUPP : -EINVAL;
	}
	r->op = (enum brick_admin_op)i;
	if (r->op == BRICK_ADMIN_SESSIONS &&
	    take_id(object, "after", &r->after)) {
		*why = "\"after\" is a session's id, hexadecimal";
		return -EINVAL;
	}
	if (r->op == BRICK_ADMIN_CLIENTS &&
	    json_object_object_get_ex(object, "from", NULL) &&
	    !take_count(object, "from", &r->from)) {
		*why = "\"from\" is a client's number";
		return -EINVAL;
	}
	if (r->op == BRICK_ADMIN_MAPPED)
		return take_mapped(object, r, why);
	if (r->op == BRICK_ADMIN_TIER)
		return take_tier(object, r, why);
	if (r->op != BRICK_ADMIN_EVICT)
		return 0;
	if (take_id(object, "session", &r->session) || take_client(object, r) ||
	    !r->session == !*r->client) {
		*why = "evict takes either \"session\", an id in hexadecimal, "
		       "or \"client\", a name";
		return -EINVAL;
	}
	return 0;
}

int brick_admin_request_parse(const char *line, size_t len,
			      struct brick_admin_request *request,
			      const char **why)
{
	struct brick_admin_request r = { 0 };
	struct json_object *object = NULL;
	int rc;

	rc = parse_json(line, len, &object, why);
	if (rc)
		return rc;
	rc = take_members(object, &r, why);
	json_object_put(object);
	if (!rc)
		*request = r;
	return rc;
}
