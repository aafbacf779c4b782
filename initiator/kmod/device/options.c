// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: reads what is written to the control device.
 *
 * Keys are in a table; each has a function that takes its value. What a key's
 * value may be is checked here, what goes with what at the end.
 */
#include <linux/cpumask.h>
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/uuid.h>

#include "blocks/kfb_mapcache.h"
#include "options.h"

#define SECONDS_MAX   86400
#define DEFAULT_PORT  "20149"
#define DEFAULT_S     60
#define TIMEOUT_S     10
#define RETAIN_MB_MIN 4 /* two of the largest writes */
#define RETAIN_MB_MAX 65536
#define MSEC_PER_S    1000
#define QUEUES_WANTED 4

struct option {
	const char *name;
	bool has_value;
	/* Return: NULL, or what the value must be. */
	const char *(*take)(const char *value, struct kfbk_options *out);
};

static const char *kfbk_option_copy(char *to, size_t bytes, const char *value)
{
	if (!*value)
		return "must not be empty";
	return strscpy(to, value, bytes) < 0 ? "is too long" : NULL;
}

/* A word that sets a field. */
#define KFBK_OPTION_WORD(word, field, to)                                    \
	static const char *kfbk_option_take_##word(const char *value,        \
						   struct kfbk_options *out) \
	{                                                                    \
		out->field = to;                                             \
		return NULL;                                                 \
	}

KFBK_OPTION_WORD(attach, order, KFBK_ATTACH)
KFBK_OPTION_WORD(detach, order, KFBK_DETACH)
KFBK_OPTION_WORD(resize, order, KFBK_RESIZE)
KFBK_OPTION_WORD(reattach, order, KFBK_REATTACH)
KFBK_OPTION_WORD(thin, thin, true)
KFBK_OPTION_WORD(ro, ro, true)
KFBK_OPTION_WORD(shared, shared, true)
KFBK_OPTION_WORD(untrusted, allow_untrusted_tcp, true)
KFBK_OPTION_WORD(force, force, true)

/* A key whose value is a field as it is. */
#define KFBK_OPTION_TEXT(field)                                               \
	static const char *kfbk_option_take_##field(const char *value,        \
						    struct kfbk_options *out) \
	{                                                                     \
		return kfbk_option_copy(out->field, sizeof(out->field),       \
					value);                               \
	}

KFBK_OPTION_TEXT(provider)
KFBK_OPTION_TEXT(client)
KFBK_OPTION_TEXT(key)

/* A key whose value is a number in a field; when it is wrong, and what it must be. */
#define KFBK_OPTION_NUMBER(word, parse, radix, field, is_wrong, must_be)     \
	static const char *kfbk_option_take_##word(const char *value,        \
						   struct kfbk_options *out) \
	{                                                                    \
		if (parse(value, radix, &out->field) || (is_wrong))          \
			return must_be;                                      \
		return NULL;                                                 \
	}

KFBK_OPTION_NUMBER(base, kstrtou64, 0, base, out->base % KFB_BLOCK_BYTES,
		   "must be a multiple of 2 MiB")
KFBK_OPTION_NUMBER(blocks, kstrtou64, 0, n_blocks,
		   !out->n_blocks || out->n_blocks > KFB_BLOCKS_MAX,
		   "must be a number of 2 MiB blocks")
KFBK_OPTION_NUMBER(queues, kstrtou32, 10, queues,
		   !out->queues || out->queues > KFB_CLIENT_QUEUES_MAX,
		   "must be 1 to 8")
KFBK_OPTION_NUMBER(sector, kstrtou32, 10, sector_bytes,
		   out->sector_bytes != 512 && out->sector_bytes != 4096,
		   "must be 512 or 4096")
KFBK_OPTION_NUMBER(retain, kstrtou32, 10, retain_mb,
		   out->retain_mb > RETAIN_MB_MAX ||
			   (out->retain_mb && out->retain_mb < RETAIN_MB_MIN),
		   "must be MiB, 4 to 65536, or 0")
KFBK_OPTION_NUMBER(map_cache, kstrtou32, 10, map_cache, false,
		   "must be a number of 2 MiB blocks, or 0")
KFBK_OPTION_NUMBER(instance, kstrtou32, 10, instance, false, "must be a number")

static const char *kfbk_option_take_addr(const char *value,
					 struct kfbk_options *out)
{
	struct kfbk_address *a = &out->addresses[out->n_addresses];

	if (out->n_addresses == ARRAY_SIZE(out->addresses))
		return "is there more than four times";
	out->n_addresses++;
	return kfbk_option_copy(a->addr, sizeof(a->addr), value);
}

static const char *kfbk_option_take_port(const char *value,
					 struct kfbk_options *out)
{
	/* Of the newest address; one may also come before the first. */
	struct kfbk_address *a =
		&out->addresses[out->n_addresses ? out->n_addresses - 1 : 0];
	u16 port;

	if (*a->port)
		return "is there twice";
	if (kstrtou16(value, 10, &port) || !port)
		return "must be a port number";
	return kfbk_option_copy(a->port, sizeof(a->port), value);
}

/* It becomes a file's name, and a word of brickctl's. */
static const char *kfbk_option_take_name(const char *value,
					 struct kfbk_options *out)
{
	static const char wrong[] =
		"must be of letters, digits, '.', '_' and '-', and begin with neither '.' nor '-'";
	const char *at;

	for (at = value; *at; at++) {
		if (!isascii(*at) || (!isalnum(*at) && !strchr("._-", *at)))
			return wrong;
	}
	if (*value == '.' || *value == '-')
		return wrong;
	return kfbk_option_copy(out->name, sizeof(out->name), value);
}

static const char *kfbk_option_take_uuid(const char *value,
					 struct kfbk_options *out)
{
	uuid_t uuid;

	if (uuid_parse(value, &uuid))
		return "must be a uuid";
	memcpy(out->uuid, &uuid, sizeof(out->uuid));
	return NULL;
}

static const char *kfbk_option_take_reconnect(const char *value,
					      struct kfbk_options *out)
{
	u32 seconds;

	if (kstrtou32(value, 10, &seconds) || seconds > SECONDS_MAX)
		return "must be seconds, at most a day";
	/* fail=never may have come before. */
	if (out->reconnect_ms != KFB_CLIENT_FOREVER)
		out->reconnect_ms = seconds * MSEC_PER_S;
	return NULL;
}

static const char *kfbk_option_take_timeout(const char *value,
					    struct kfbk_options *out)
{
	u32 seconds;

	if (kstrtou32(value, 10, &seconds) || !seconds || seconds > SECONDS_MAX)
		return "must be seconds, 1 to a day";
	out->timeout_ms = seconds * MSEC_PER_S;
	return NULL;
}

static const char *kfbk_option_take_fail(const char *value,
					 struct kfbk_options *out)
{
	if (!strcmp(value, "never"))
		out->reconnect_ms = KFB_CLIENT_FOREVER;
	else if (strcmp(value, "io-error"))
		return "must be never or io-error";
	return NULL;
}

enum {
	OPT_ATTACH,
	OPT_DETACH,
	OPT_RESIZE,
	OPT_REATTACH,
	OPT_ADDR,
	OPT_PORT,
	OPT_PROVIDER,
	OPT_CLIENT,
	OPT_KEY,
	OPT_NAME,
	OPT_UUID,
	OPT_BASE,
	OPT_BLOCKS,
	OPT_SECTOR,
	OPT_QUEUES,
	OPT_THIN,
	OPT_RO,
	OPT_SHARED,
	OPT_UNTRUSTED,
	OPT_RECONNECT,
	OPT_TIMEOUT,
	OPT_FAIL,
	OPT_RETAIN,
	OPT_MAP_CACHE,
	OPT_INSTANCE,
	OPT_FORCE,
};

static const struct option kfbk_option_table[] = {
	[OPT_ATTACH] = { "attach", false, kfbk_option_take_attach },
	[OPT_DETACH] = { "detach", false, kfbk_option_take_detach },
	[OPT_RESIZE] = { "resize", false, kfbk_option_take_resize },
	[OPT_REATTACH] = { "reattach", false, kfbk_option_take_reattach },
	[OPT_ADDR] = { "addr", true, kfbk_option_take_addr },
	[OPT_PORT] = { "port", true, kfbk_option_take_port },
	[OPT_PROVIDER] = { "provider", true, kfbk_option_take_provider },
	[OPT_CLIENT] = { "client", true, kfbk_option_take_client },
	[OPT_KEY] = { "key", true, kfbk_option_take_key },
	[OPT_NAME] = { "name", true, kfbk_option_take_name },
	[OPT_UUID] = { "uuid", true, kfbk_option_take_uuid },
	[OPT_BASE] = { "base", true, kfbk_option_take_base },
	[OPT_BLOCKS] = { "blocks", true, kfbk_option_take_blocks },
	[OPT_SECTOR] = { "sector", true, kfbk_option_take_sector },
	[OPT_QUEUES] = { "queues", true, kfbk_option_take_queues },
	[OPT_THIN] = { "thin", false, kfbk_option_take_thin },
	[OPT_RO] = { "ro", false, kfbk_option_take_ro },
	[OPT_SHARED] = { "shared", false, kfbk_option_take_shared },
	[OPT_UNTRUSTED] = { "allow_untrusted_tcp", false,
			    kfbk_option_take_untrusted },
	[OPT_RECONNECT] = { "reconnect_s", true, kfbk_option_take_reconnect },
	[OPT_TIMEOUT] = { "timeout_s", true, kfbk_option_take_timeout },
	[OPT_FAIL] = { "fail", true, kfbk_option_take_fail },
	[OPT_RETAIN] = { "retain_mb", true, kfbk_option_take_retain },
	[OPT_MAP_CACHE] = { "map_cache", true, kfbk_option_take_map_cache },
	[OPT_INSTANCE] = { "instance", true, kfbk_option_take_instance },
	[OPT_FORCE] = { "force", false, kfbk_option_take_force },
};

#define ORDERS                                                 \
	(BIT(OPT_ATTACH) | BIT(OPT_DETACH) | BIT(OPT_RESIZE) | \
	 BIT(OPT_REATTACH))
/* Each address has one. */
#define REPEATABLE  (BIT(OPT_ADDR) | BIT(OPT_PORT))
#define OF_DETACH   (BIT(OPT_DETACH) | BIT(OPT_INSTANCE) | BIT(OPT_FORCE))
#define OF_RESIZE   (BIT(OPT_RESIZE) | BIT(OPT_INSTANCE) | BIT(OPT_BLOCKS))
#define OF_REATTACH (BIT(OPT_REATTACH) | BIT(OPT_INSTANCE))

static int kfbk_option_take(char *word, struct kfbk_options *out,
			    char why[KFBK_WHY_BYTES])
{
	char *value = strchr(word, '=');
	const char *wrong;
	int i = 0;

	if (value)
		*value++ = '\0';
	while (i < ARRAY_SIZE(kfbk_option_table) &&
	       strcmp(kfbk_option_table[i].name, word))
		i++;
	if (i == ARRAY_SIZE(kfbk_option_table)) {
		snprintf(why, KFBK_WHY_BYTES, "unknown option \"%.32s\"", word);
		return -EINVAL;
	}
	if (kfbk_option_table[i].has_value != !!value) {
		snprintf(why, KFBK_WHY_BYTES, "%s %s", word,
			 value ? "takes no value" : "needs a value");
		return -EINVAL;
	}
	if (out->given & BIT(i) & ~REPEATABLE) {
		snprintf(why, KFBK_WHY_BYTES, "%s is there twice", word);
		return -EINVAL;
	}
	out->given |= BIT(i);
	wrong = kfbk_option_table[i].take(value, out);
	if (wrong) {
		snprintf(why, KFBK_WHY_BYTES, "%s %s", word, wrong);
		return -EINVAL;
	}
	return 0;
}

static const char *kfbk_option_check_range(const struct kfbk_options *o)
{
	if (kfb_range_check(o->base, o->n_blocks))
		return "base and blocks go beyond the address space";
	if (o->n_blocks > (U64_MAX >> KFB_BLOCK_SHIFT) ||
	    o->n_blocks > SIZE_MAX / 64)
		return "blocks is too large";
	return NULL;
}

/* Of a disk that several hosts write; see enum kfb_disk_use. */
static const char *kfbk_option_check_shared(const struct kfbk_options *o)
{
	if (!(o->given & BIT(OPT_CLIENT)))
		return "shared needs client and key: each host has a name of its own, by which it can be fenced";
	if (o->ro)
		return "shared and ro exclude each other: one that is read only is shared with others that are";
	if (o->thin)
		return "shared and thin exclude each other: other hosts would not see what one allocates or frees";
	if (o->retain_mb && o->retain_mb != KFBK_RETAIN_AUTO)
		return "shared and retain_mb exclude each other: a copy could be older than what another host has written";
	if (o->map_cache)
		return "shared and map_cache exclude each other: a shared disk has all of its blocks mapped";
	return NULL;
}

/* What goes with what; NULL when all is well. */
static const char *kfbk_option_check_all(const struct kfbk_options *o)
{
	const char *wrong;

	if (hweight32(o->given & ORDERS) != 1)
		return "give one of attach, detach, resize and reattach";
	if (o->order == KFBK_REATTACH)
		return o->given == OF_REATTACH ? NULL
					       : "reattach takes instance";
	if (o->order == KFBK_RESIZE)
		return o->given == OF_RESIZE
			       ? kfbk_option_check_range(o)
			       : "resize takes instance and blocks";
	if (o->order == KFBK_DETACH) {
		if (!(o->given & BIT(OPT_INSTANCE)))
			return "detach needs instance";
		return o->given & ~OF_DETACH ? "detach takes instance and force"
					     : NULL;
	}
	if (o->given & OF_DETACH)
		return "instance and force are for detach";
	if (!(o->given & BIT(OPT_ADDR)) || !(o->given & BIT(OPT_PROVIDER)))
		return "attach needs addr and provider";
	if (!(o->given & BIT(OPT_BASE)) || !(o->given & BIT(OPT_BLOCKS)))
		return "attach needs base and blocks";
	if (!(o->given & BIT(OPT_CLIENT)) != !(o->given & BIT(OPT_KEY)))
		return "client and key go together";
	/* Without a key a brick elsewhere does not end the session that is here. */
	if (o->n_addresses > 1 && !(o->given & BIT(OPT_CLIENT)))
		return "more than one addr needs client and key";
	/* Births tell clients apart, by their names. */
	if (o->map_cache && !(o->given & BIT(OPT_CLIENT)))
		return "map_cache needs client and key";
	if (o->map_cache && o->n_blocks >= KFB_MAPCACHE_NONE)
		return "so many blocks cannot be mapped on demand";
	wrong = o->shared ? kfbk_option_check_shared(o) : NULL;
	return wrong ?: kfbk_option_check_range(o);
}

int kfbk_options_parse(char *line, struct kfbk_options *out,
		       char why[KFBK_WHY_BYTES])
{
	struct kfbk_options o = {
		.sector_bytes = 4096,
		.queues = min_t(u32, num_online_cpus(), QUEUES_WANTED),
		.reconnect_ms = DEFAULT_S * MSEC_PER_S,
		.timeout_ms = TIMEOUT_S * MSEC_PER_S,
		.retain_mb = KFBK_RETAIN_AUTO,
	};
	const char *wrong;
	char *word;
	int ret;
	u32 i;

	line = strim(line);
	while ((word = strsep(&line, ",")) != NULL) {
		ret = kfbk_option_take(word, &o, why);
		if (ret)
			return ret;
	}
	for (i = 0; i < o.n_addresses; i++) {
		if (!*o.addresses[i].port)
			strscpy(o.addresses[i].port, DEFAULT_PORT,
				sizeof(o.addresses[i].port));
	}
	wrong = kfbk_option_check_all(&o);
	if (wrong) {
		strscpy(why, wrong, KFBK_WHY_BYTES);
		return -EINVAL;
	}
	*out = o;
	return 0;
}
