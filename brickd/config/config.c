// SPDX-License-Identifier: BSD-2-Clause
/* The configuration: settings, sections and what fits together. */
#include "brickd/config/config.h"

#include <errno.h>
#include <ini.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/base/log.h"
#include "brickd/base/util.h"
#include "common/ini_lines.h"
#include "kfabric/user/stcp.h"
#include "proto/codec/kfb_codec.h"
#include "proto/kfb_text.h"

#define SECONDS_MS  1000
#define FNV_OFFSET  2166136261U
#define FNV_PRIME   16777619U
#define LIMIT_LARGE (1ULL << 20)

#define SESSIONS 256
#define PENDING	 1024
/* Of the whole, one client's share: three of them leave room for a fourth. */
#define CLIENT_SHARE 4

#define LEASE_MIN_MS 1000
#define LEASE_MAX_MS 600000

/* State of one reading. */
struct parse {
	struct brick_config *config;
	struct ini_lines reader;
	struct brick_client *client; /* NULL in [brick] and before any */
	bool in_section;
	bool seen_brick;
	uint64_t seen; /* a bit for each setting that may come once */
	int error;
	char why[BRICK_ERR_BYTES / 2];
};

__attribute__((format(printf, 2, 3))) static int fail(struct parse *p,
						      const char *fmt, ...)
{
	va_list ap;

	if (p->error)
		return p->error;
	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
	p->error = -EINVAL;
	return p->error;
}

static uint64_t share_of_client(uint64_t whole)
{
	return whole < CLIENT_SHARE ? 1 : whole / CLIENT_SHARE;
}

void brick_config_init(struct brick_config *c)
{
	memset(c, 0, sizeof(*c));
	c->auth = BRICK_AUTH_REQUIRED;
	c->log_level = LOG_INFO;
	c->limits = (struct brick_limits){
		.sessions = SESSIONS,
		.sessions_per_client = SESSIONS / CLIENT_SHARE,
		.unauthenticated = 64,
		.unauthenticated_per_address = 16,
		.queues = 8,
		.lease_ms = 10 * SECONDS_MS,
		.auth_timeout_ms = 5 * SECONDS_MS,
		.credits = 16,
		.pending = 64,
		.pending_per_client = PENDING / CLIENT_SHARE,
		.pending_total = PENDING,
		.mappings = 1024,
		.handles = 8192,
		.map_extent_max_bytes = KFB_MAP_EXTENT_MAX_BYTES,
		.alloc_max_blocks = 65536,
		.stop_timeout_ms = 3 * SECONDS_MS,
		.tier_low_percent = 5,
		.tier_high_percent = 10,
		.promote_wait_ms = 5 * SECONDS_MS,
	};
}

void brick_config_fini(struct brick_config *c)
{
	for (uint32_t i = 0; i < c->n_clients; i++) {
		struct brick_client *client = c->clients[i];

		for (uint32_t k = 0; k < BRICK_KEYS_MAX; k++)
			free(client->keys[k].file);
		sodium_memzero(client->keys, sizeof(client->keys));
		free(client);
	}
	free(c->clients);
	free(c->admin);
	free(c->fences);
	free(c->reservations);
	free(c->store);
	free(c->slow);
	free(c->file);
	memset(c, 0, sizeof(*c));
}

uint32_t brick_owner_hash(const char *name)
{
	uint32_t hash = FNV_OFFSET;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * FNV_PRIME;
	return hash ? hash : 1;
}

const struct brick_client *brick_config_client(const struct brick_config *c,
					       const char *name)
{
	for (uint32_t i = 0; i < c->n_clients; i++)
		if (!c->clients[i]->removed &&
		    !strcmp(c->clients[i]->name, name))
			return c->clients[i];
	return NULL;
}

unsigned int brick_client_key(const struct brick_client *client, uint64_t id)
{
	for (uint32_t i = 0; i < client->n_keys; i++)
		if (client->keys[i].id == id)
			return i + 1;
	return 0;
}

int brick_config_set_store(struct brick_config *c, const char *text, char *err,
			   size_t err_len)
{
	char *copy;

	if (!*text) {
		snprintf(err, err_len, "store needs a path");
		return -EINVAL;
	}
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(c->store);
	c->store = copy;
	return 0;
}

int brick_config_add_listen(struct brick_config *c, const char *text, char *err,
			    size_t err_len)
{
	if (c->n_listen >= BRICK_LISTEN_MAX) {
		snprintf(err, err_len, "more than %d addresses to listen on",
			 BRICK_LISTEN_MAX);
		return -EINVAL;
	}
	if (brick_address_parse(text, &c->listen[c->n_listen], err, err_len))
		return -EINVAL;
	c->listen_line[c->n_listen++] = 0;
	return 0;
}

/* ---- settings of [brick] ---- */

static int set_store(struct parse *p, const char *value)
{
	if (brick_config_set_store(p->config, value, p->why, sizeof(p->why)))
		p->error = -EINVAL;
	return p->error;
}

static int set_slow(struct parse *p, const char *value)
{
	if (!*value)
		return fail(p, "slow needs a path");
	p->config->slow = strdup(value);
	return p->config->slow ? 0 : fail(p, "out of memory");
}

static int set_pin(struct parse *p, const char *value)
{
	struct brick_config *c = p->config;
	__u64 va, n_blocks;
	int rc;

	if (c->n_pins == BRICK_PINS_MAX)
		return fail(p, "more than %d pins", BRICK_PINS_MAX);
	rc = kfb_range_parse(value, &va, &n_blocks, NULL);
	if (rc)
		return fail(p, "\"%.64s\": %s", value, kfb_text_why(rc));
	c->pins[c->n_pins++] = brick_span_of(va, n_blocks);
	return 0;
}

static int set_listen(struct parse *p, const char *value)
{
	char text[2 * BRICK_URL_BYTES], *word, *rest = text;

	if (strlen(value) >= sizeof(text))
		return fail(p, "listen is too long: repeat the line instead");
	memcpy(text, value, strlen(value) + 1);
	while ((word = strsep(&rest, " \t,"))) {
		if (!*word)
			continue;
		if (brick_config_add_listen(p->config, word, p->why,
					    sizeof(p->why))) {
			p->error = -EINVAL;
			return p->error;
		}
		p->config->listen_line[p->config->n_listen - 1] =
			p->reader.line;
	}
	return 0;
}

static int set_auth(struct parse *p, const char *value)
{
	if (!strcmp(value, "required"))
		p->config->auth = BRICK_AUTH_REQUIRED;
	else if (!strcmp(value, "none"))
		p->config->auth = BRICK_AUTH_NONE;
	else
		return fail(p, "auth is \"required\" or \"none\"");
	return 0;
}

static int set_persistence(struct parse *p, const char *value)
{
	if (!strcmp(value, "auto"))
		p->config->persistence = BRICK_PERSISTENCE_AUTO;
	else if (!strcmp(value, "battery"))
		p->config->persistence = BRICK_PERSISTENCE_BATTERY;
	else if (!strcmp(value, "assume-readback"))
		p->config->persistence = BRICK_PERSISTENCE_ASSUME_READBACK;
	else
		return fail(p, "persistence is \"auto\", \"battery\" or "
			       "\"assume-readback\"");
	return 0;
}

static int set_ddio(struct parse *p, const char *value)
{
	if (!strcmp(value, "unknown"))
		p->config->ddio = BRICK_DDIO_UNKNOWN;
	else if (!strcmp(value, "on"))
		p->config->ddio = BRICK_DDIO_ON;
	else if (!strcmp(value, "off"))
		p->config->ddio = BRICK_DDIO_OFF;
	else
		return fail(p, "ddio is \"unknown\", \"on\" or \"off\"");
	return 0;
}

static int set_bool(struct parse *p, const char *value, bool *out)
{
	if (!strcmp(value, "yes"))
		*out = true;
	else if (!strcmp(value, "no"))
		*out = false;
	else
		return fail(p, "\"%.32s\" is neither yes nor no", value);
	return 0;
}

static int set_untrusted_tcp(struct parse *p, const char *value)
{
	return set_bool(p, value, &p->config->allow_untrusted_tcp);
}

static int set_remote_anonymous(struct parse *p, const char *value)
{
	return set_bool(p, value, &p->config->allow_remote_anonymous);
}

static int set_remote_metrics(struct parse *p, const char *value)
{
	return set_bool(p, value, &p->config->allow_remote_metrics);
}

static int set_admin(struct parse *p, const char *value)
{
	if (!*value)
		return fail(p, "admin needs a path");
	if (strlen(value) > BRICK_ADMIN_PATH_MAX)
		return fail(p, "admin is longer than %d characters",
			    BRICK_ADMIN_PATH_MAX);
	p->config->admin = strdup(value);
	return p->config->admin ? 0 : fail(p, "out of memory");
}

static int set_state_file(struct parse *p, const char *name, const char *value,
			  char **path)
{
	if (*value != '/')
		return fail(p, "%s needs a path that begins with /", name);
	*path = strdup(value);
	return *path ? 0 : fail(p, "out of memory");
}

static int set_fences(struct parse *p, const char *value)
{
	return set_state_file(p, "fences", value, &p->config->fences);
}

static int set_reservations(struct parse *p, const char *value)
{
	return set_state_file(p, "reservations", value,
			      &p->config->reservations);
}

static int set_metrics(struct parse *p, const char *value)
{
	struct brick_address *a = &p->config->metrics;

	/* An address of the fabric in all but scheme and default port. */
	if (strstr(value, "://") || !strrchr(value, ':') ||
	    strchr(value, '\0')[-1] == ']')
		return fail(p, "metrics is HOST:PORT, HOST numeric");
	if (brick_address_parse(value, a, p->why, sizeof(p->why))) {
		p->error = -EINVAL;
		return p->error;
	}
	if (*a->interface)
		return fail(p, "metrics are bound to no interface: HOST:PORT");
	p->config->has_metrics = true;
	p->config->metrics_line = p->reader.line;
	return 0;
}

static int set_uuid(struct parse *p, const char *value)
{
	if (brick_uuid_parse(value, p->config->uuid))
		return fail(p, "\"%.40s\" is not a uuid", value);
	p->config->has_uuid = true;
	return 0;
}

static int set_log_level(struct parse *p, const char *value)
{
	for (int level = LOG_ERR; level <= LOG_DEBUG; level++)
		if (!strcmp(value, brick_log_level_name(level))) {
			p->config->log_level = level;
			return 0;
		}
	return fail(p, "log-level is error, warning, notice, info or debug");
}

static int set_lease(struct parse *p, const char *value)
{
	__u64 ms;

	if (kfb_size_parse(value, &ms, NULL) ||
	    (ms && (ms < LEASE_MIN_MS || ms > LEASE_MAX_MS)))
		return fail(p, "lease-ms is 0 or a number from %d to %d",
			    LEASE_MIN_MS, LEASE_MAX_MS);
	p->config->limits.lease_ms = ms;
	return 0;
}

struct setting {
	const char *name;
	int (*set)(struct parse *p, const char *value); /* NULL: a limit */
	bool repeatable;
	bool is_limit;
	size_t offset; /* of a limit in struct brick_limits */
	uint64_t min;
	uint64_t max;
};

#define LIMIT(text, field, lowest, highest)                     \
	{                                                       \
		.name = (text), .is_limit = true,               \
		.offset = offsetof(struct brick_limits, field), \
		.min = (lowest), .max = (highest)               \
	}

static const struct setting settings[] = {
	{ .name = "store", .set = set_store },
	{ .name = "slow", .set = set_slow },
	{ .name = "pin", .set = set_pin, .repeatable = true },
	{ .name = "listen", .set = set_listen, .repeatable = true },
	{ .name = "auth", .set = set_auth },
	{ .name = "persistence", .set = set_persistence },
	{ .name = "ddio", .set = set_ddio },
	{ .name = "allow-untrusted-tcp", .set = set_untrusted_tcp },
	{ .name = "allow-remote-anonymous", .set = set_remote_anonymous },
	{ .name = "admin", .set = set_admin },
	{ .name = "fences", .set = set_fences },
	{ .name = "reservations", .set = set_reservations },
	{ .name = "metrics", .set = set_metrics },
	{ .name = "allow-remote-metrics", .set = set_remote_metrics },
	{ .name = "uuid", .set = set_uuid },
	{ .name = "log-level", .set = set_log_level },
	{ .name = "lease-ms",
	  .set = set_lease,
	  .is_limit = true,
	  .offset = offsetof(struct brick_limits, lease_ms) },
	LIMIT("max-sessions", sessions, 1, 65536),
	LIMIT("max-sessions-per-client", sessions_per_client, 1, 65536),
	LIMIT("max-unauthenticated", unauthenticated, 1, 4096),
	LIMIT("max-unauthenticated-per-address", unauthenticated_per_address, 1,
	      4096),
	LIMIT("max-queues", queues, 1, BRICK_QUEUES_MAX),
	LIMIT("auth-timeout-ms", auth_timeout_ms, 100, 600 * SECONDS_MS),
	LIMIT("credits", credits, KFB_CREDITS_MIN, KFB_CREDITS_MAX),
	LIMIT("max-pending", pending, 1, 4096),
	LIMIT("max-pending-per-client", pending_per_client, 1, 65536),
	LIMIT("max-pending-total", pending_total, 1, 65536),
	LIMIT("max-mappings", mappings, 1, 65536),
	LIMIT("max-handles", handles, 1, LIMIT_LARGE),
	LIMIT("map-extent-max", map_extent_max_bytes, KFB_BLOCK_BYTES,
	      KFB_MAP_EXTENT_MAX_BYTES),
	LIMIT("alloc-max-blocks", alloc_max_blocks, 1, LIMIT_LARGE),
	LIMIT("tcp-busy-poll-us", tcp_busy_poll_us, 0, STCP_BUSY_POLL_MAX_US),
	LIMIT("stop-timeout-ms", stop_timeout_ms, 0, 600 * SECONDS_MS),
	LIMIT("tier-low", tier_low_percent, 0, 99),
	LIMIT("tier-high", tier_high_percent, 1, 100),
	LIMIT("tier-rate", tier_rate_bytes, 0, 1ULL << 50),
	LIMIT("promote-wait-ms", promote_wait_ms, 0, 600 * SECONDS_MS),
};

_Static_assert(BRICK_ARRAY_SIZE(settings) <= 64, "one bit each in seen");

static int parse_number(struct parse *p, const char *name, const char *value,
			uint64_t min, uint64_t max, uint64_t *out)
{
	__u64 number;

	if (kfb_size_parse(value, &number, NULL) || number < min ||
	    number > max)
		return fail(p, "%s is a number from %llu to %llu", name,
			    (unsigned long long)min, (unsigned long long)max);
	*out = number;
	return 0;
}

static uint64_t limit_of(const struct brick_limits *limits, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)limits + offset, sizeof(value));
	return value;
}

const char *brick_config_next_limit(const struct brick_limits *a,
				    const struct brick_limits *b, size_t *at)
{
	while (*at < BRICK_ARRAY_SIZE(settings)) {
		const struct setting *s = &settings[(*at)++];

		if (s->is_limit &&
		    limit_of(a, s->offset) != limit_of(b, s->offset))
			return s->name;
	}
	return NULL;
}

static int set_brick(struct parse *p, const char *name, const char *value)
{
	char *limits = (char *)&p->config->limits;
	uint64_t number = 0;
	int rc;

	for (size_t i = 0; i < BRICK_ARRAY_SIZE(settings); i++) {
		const struct setting *s = &settings[i];

		if (strcmp(s->name, name))
			continue;
		if (!s->repeatable && p->seen & 1ULL << i)
			return fail(p, "%s is given twice", name);
		p->seen |= 1ULL << i;
		if (s->set)
			return s->set(p, value);
		rc = parse_number(p, name, value, s->min, s->max, &number);
		if (!rc)
			memcpy(limits + s->offset, &number, sizeof(number));
		return rc;
	}
	return fail(p, "[brick] has no setting \"%.64s\"", name);
}

static bool is_given(const struct parse *p, const char *name)
{
	for (size_t i = 0; i < BRICK_ARRAY_SIZE(settings); i++)
		if (!strcmp(settings[i].name, name))
			return p->seen & 1ULL << i;
	return false;
}

/* ---- [client NAME] ---- */

static int set_key_file(struct parse *p, const char *value)
{
	struct brick_client *client = p->client;

	if (client->n_keys == BRICK_KEYS_MAX)
		return fail(p, "a client cannot have more than %d key files",
			    BRICK_KEYS_MAX);
	if (!*value)
		return fail(p, "key-file needs a path");
	client->keys[client->n_keys].file = strdup(value);
	if (!client->keys[client->n_keys].file)
		return fail(p, "out of memory");
	client->n_keys++;
	return 0;
}

static int set_grant(struct parse *p, const char *value)
{
	struct kfb_grant grant = { 0 };
	char range[64], access[8], rest[2];
	int rc;

	if (sscanf(value, "%63s %7s %1s", range, access, rest) != 2)
		return fail(p, "a grant is \"VA+N ro\" or \"VA+N rw\"");
	rc = kfb_range_parse(range, &grant.va, &grant.n_blocks, NULL);
	if (rc)
		return fail(p, "\"%s\": %s", range, kfb_text_why(rc));
	if (!strcmp(access, "ro"))
		grant.access = KFB_GRANT_RO;
	else if (!strcmp(access, "rw"))
		grant.access = KFB_GRANT_RW;
	else
		return fail(p, "\"%s\" is neither ro nor rw", access);
	if (brick_grants_add(&p->client->grants, &grant))
		return fail(p, "a client cannot have more than %d grants",
			    (int)KFB_GRANTS_MAX);
	return 0;
}

static int set_quota(struct parse *p, const char *value)
{
	__u64 n_blocks;
	int rc;

	if (p->client->has_quota)
		return fail(p, "quota is given twice");
	rc = kfb_blocks_parse(value, &n_blocks, NULL);
	if (rc)
		return fail(p, "quota \"%.64s\": %s", value, kfb_text_why(rc));
	if (n_blocks > KFB_QUOTA_MAX)
		return fail(p, "a quota is at most %u blocks", KFB_QUOTA_MAX);
	p->client->has_quota = true;
	p->client->quota_blocks = n_blocks;
	return 0;
}

static int set_rate_bytes(struct parse *p, const char *value)
{
	struct kfb_rate *rate = &p->client->rate;
	uint64_t number = 0;
	int rc;

	/* No setting is 0: that is no rate. */
	if (rate->bytes_per_s)
		return fail(p, "rate-bytes is given twice");
	rc = parse_number(p, "rate-bytes", value, KFB_RATE_BYTES_MIN,
			  KFB_RATE_BYTES_MAX, &number);
	if (!rc)
		rate->bytes_per_s = number;
	return rc;
}

static int set_rate_ops(struct parse *p, const char *value)
{
	struct kfb_rate *rate = &p->client->rate;
	uint64_t number = 0;
	int rc;

	if (rate->ops_per_s)
		return fail(p, "rate-ops is given twice");
	rc = parse_number(p, "rate-ops", value, KFB_RATE_OPS_MIN, UINT32_MAX,
			  &number);
	if (!rc)
		rate->ops_per_s = (uint32_t)number;
	return rc;
}

static int set_role(struct parse *p, const char *value)
{
	if (strcmp(value, "fencer"))
		return fail(p, "the only role is \"fencer\"");
	p->client->is_fencer = true;
	return 0;
}

bool brick_client_name_is_good(const char *name)
{
	return *name && kfb_name_ok(name, strlen(name));
}

static int set_group(struct parse *p, const char *value)
{
	struct brick_client *client = p->client;
	char text[sizeof("group ") + KFB_NAME_MAX];
	uint32_t owner;

	if (*client->group)
		return fail(p, "group is given twice");
	if (!brick_client_name_is_good(value))
		return fail(p,
			    "a group's name is 1 to %d printable characters "
			    "without blanks",
			    KFB_NAME_MAX);
	/* A blank, which no client's name has, keeps groups and clients apart. */
	(void)snprintf(text, sizeof(text), "group %s", value);
	owner = brick_owner_hash(text);
	for (uint32_t i = 0; i < p->config->n_clients; i++) {
		const struct brick_client *other = p->config->clients[i];

		if ((other->owner == owner && strcmp(other->group, value)) ||
		    brick_owner_hash(other->name) == owner)
			return fail(p,
				    "group %s looks on the media like client "
				    "%s of line %u, or its group: choose "
				    "another name",
				    value, other->name, other->line);
	}
	memcpy(client->group, value, strlen(value) + 1);
	client->owner = owner;
	return 0;
}

static int set_client(struct parse *p, const char *name, const char *value)
{
	static const struct {
		const char *name;
		int (*set)(struct parse *p, const char *value);
	} of_client[] = {
		{ .name = "key-file", .set = set_key_file },
		{ .name = "grant", .set = set_grant },
		{ .name = "quota", .set = set_quota },
		{ .name = "rate-bytes", .set = set_rate_bytes },
		{ .name = "rate-ops", .set = set_rate_ops },
		{ .name = "role", .set = set_role },
		{ .name = "group", .set = set_group },
	};

	for (size_t i = 0; i < BRICK_ARRAY_SIZE(of_client); i++)
		if (!strcmp(of_client[i].name, name))
			return of_client[i].set(p, value);
	return fail(p, "[client] has no setting \"%.64s\"", name);
}

static int add_client(struct parse *p, const char *name)
{
	struct brick_config *c = p->config;
	struct brick_client **list, *client;

	if (!brick_client_name_is_good(name))
		return fail(p,
			    "a client's name is 1 to %d printable characters "
			    "without blanks",
			    KFB_NAME_MAX);
	if (c->n_clients >= BRICK_CLIENTS_MAX)
		return fail(p, "more than %d clients", BRICK_CLIENTS_MAX);
	for (uint32_t i = 0; i < c->n_clients; i++) {
		const struct brick_client *other = c->clients[i];
		uint32_t owner = brick_owner_hash(name);

		if (other->owner == owner ||
		    brick_owner_hash(other->name) == owner)
			return fail(p,
				    "client %s %s client %s of line %u: choose "
				    "another name",
				    name,
				    strcmp(name, other->name)
					    ? "looks on the media like"
					    : "is the same as",
				    other->name, other->line);
	}
	list = realloc(c->clients, (c->n_clients + 1) * sizeof(*list));
	if (!list)
		return fail(p, "out of memory");
	c->clients = list;
	client = calloc(1, sizeof(*client));
	if (!client)
		return fail(p, "out of memory");
	memcpy(client->name, name, strlen(name) + 1);
	client->owner = brick_owner_hash(name);
	client->line = p->reader.line;
	client->number = c->n_clients;
	c->clients[c->n_clients++] = client;
	p->client = client;
	return 0;
}

static int begin_section(void *ctx, const char *name)
{
	static const char client[] = "client";
	struct parse *p = ctx;

	p->in_section = true;
	p->client = NULL;
	if (!strcmp(name, "brick")) {
		if (p->seen_brick)
			return fail(p, "[brick] is there twice");
		p->seen_brick = true;
		return 0;
	}
	if (strncmp(name, client, sizeof(client) - 1) ||
	    (name[sizeof(client) - 1] != ' ' && name[sizeof(client) - 1]))
		return fail(p, "a section is [brick] or [client NAME]");
	name += sizeof(client) - 1;
	return add_client(p, name + strspn(name, " \t"));
}

/* inih calls this once per setting, also after an error. */
static int handle_setting(void *ctx, const char *section, const char *name,
			  const char *value)
{
	struct parse *p = ctx;
	int rc;

	(void)section;
	if (p->error || p->reader.error)
		return 0;
	if (!p->in_section)
		rc = fail(p, "\"%.64s\" stands before any section", name);
	else if (p->client)
		rc = set_client(p, name, value);
	else
		rc = set_brick(p, name, value);
	return rc == 0;
}

static char *next_setting_line(char *buf, int size, void *ctx)
{
	struct parse *p = ctx;

	/* The first error is the one to tell, with its line. */
	return p->error ? NULL : ini_lines_read(buf, size, &p->reader);
}

int brick_config_read(struct brick_config *c, FILE *file, const char *name,
		      char *err, size_t err_len)
{
	struct brick_limits *l = &c->limits;
	struct parse p = { .config = c };
	const char *why = p.why;
	unsigned int line;
	int rc;

	free(c->file);
	c->file = strdup(name);
	if (!c->file)
		return -ENOMEM;
	p.reader.file = file;
	p.reader.section = begin_section;
	p.reader.ctx = &p;
	rc = ini_parse_stream(next_setting_line, &p, handle_setting, &p);
	line = p.reader.line;
	if (p.reader.error) {
		why = p.reader.error;
	} else if (!p.error && rc > 0) {
		why = "neither [SECTION] nor NAME = VALUE";
		line = (unsigned int)rc;
	} else if (!p.error && rc < 0) {
		why = "out of memory";
	} else if (!p.error && ferror(file)) {
		why = "cannot be read";
	} else if (!p.error) {
		/* Shares that it does not name follow what it says of the whole. */
		if (!is_given(&p, "max-sessions-per-client"))
			l->sessions_per_client = share_of_client(l->sessions);
		if (!is_given(&p, "max-pending-per-client"))
			l->pending_per_client =
				share_of_client(l->pending_total);
		return 0;
	}
	snprintf(err, err_len, "%s:%u: %s", name, line, why);
	return -EINVAL;
}
