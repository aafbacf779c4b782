// SPDX-License-Identifier: BSD-2-Clause
/*
 * The model's connection and control calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model.h"
#include "session/kfb_refusal.h"

#define HEADER_BYTES 65536
#define CALLS_MAX    32
#define MODEL_LEASE  300
#define MODEL_KEY    0xfeedfacecafebeefULL

static const char *error_text = "";

/* How often a call has been made, by the names met so far. */
static unsigned int count_call(const char *call)
{
	static struct {
		const char *name;
		unsigned int count;
	} calls[CALLS_MAX];
	unsigned int i;

	for (i = 0; i < CALLS_MAX && calls[i].name; i++) {
		if (!strcmp(calls[i].name, call))
			return ++calls[i].count;
	}
	if (i == CALLS_MAX)
		abort();
	calls[i].name = call;
	return ++calls[i].count;
}

static int wanted_failure(const char *call)
{
	const char *at = getenv("MODEL_FAIL");
	unsigned int count = count_call(call);
	size_t len = strlen(call);
	unsigned long nth;
	char *end;

	for (; at && *at; at = *end ? end + 1 : end) {
		nth = count;
		end = strchr(at, '=');
		if (!end)
			abort();
		if (!strncmp(at, call, len) && at[len] == '@')
			nth = strtoul(at + len + 1, NULL, 10);
		else if (strncmp(at, call, len) != 0 || at[len] != '=')
			nth = 0;
		if (nth == count)
			return -(int)strtol(end + 1, &end, 10);
		strtol(end + 1, &end, 10);
	}
	return 0;
}

/* As the library puts it, which has the words from the core. */
static int refuse(uint16_t op, int error)
{
	static char text[512];

	snprintf(text, sizeof(text), "the model refuses: %s; %s",
		 kfb_refusal_why(op, error), kfb_refusal_next(op, error));
	error_text = text;
	return error;
}

/* The op of a call that the brick may refuse, or 0. */
static uint16_t op_of(const char *call)
{
	static const struct {
		const char *call;
		uint16_t op;
	} calls[] = {
		{ "alloc", KFB_OP_ALLOC },
		{ "free", KFB_OP_FREE },
		{ "map", KFB_OP_MAP },
		{ "unmap", KFB_OP_UNMAP },
		{ "fence", KFB_OP_FENCE },
		{ "admit", KFB_OP_FENCE },
		{ "get_client", KFB_OP_CLIENT },
		{ "next_client", KFB_OP_CLIENT },
		{ "reserve", KFB_OP_RESERVE },
		{ "get_reservation", KFB_OP_RESERVATION },
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (!strcmp(calls[i].call, call))
			return calls[i].op;
	}
	return 0;
}

int model_enter(const char *call, const char *format, ...)
{
	const char *path = getenv("MODEL_LOG");
	int err = wanted_failure(call);
	va_list args;
	FILE *log;

	error_text = err ? "the model was told to fail" : "";
	if (err && op_of(call))
		refuse(op_of(call), err);
	log = path ? fopen(path, "ae") : NULL;
	if (!log)
		return err;
	fprintf(log, "%s ", call);
	va_start(args, format);
	vfprintf(log, format, args);
	va_end(args);
	fputc('\n', log);
	fclose(log);
	return err;
}

uint64_t model_block(uint64_t va)
{
	const uint64_t low_blocks = MODEL_BLOCKS - MODEL_TOP;
	/* From the block to the end of the address space; 0 of the first. */
	uint64_t from_top = (0 - va) / KFBRICK_BLOCK_BYTES;

	if (va % KFBRICK_BLOCK_BYTES)
		from_top++;
	if (va / KFBRICK_BLOCK_BYTES < low_blocks)
		return va / KFBRICK_BLOCK_BYTES;
	return from_top <= MODEL_TOP ? MODEL_BLOCKS - from_top : MODEL_BLOCKS;
}

static void *open_state(void)
{
	const off_t len = HEADER_BYTES + MODEL_BLOCKS * KFBRICK_BLOCK_BYTES;
	const char *path = getenv("MODEL");
	void *map = MAP_FAILED;
	int fd;

	_Static_assert(sizeof(struct model_state) <= HEADER_BYTES, "header");
	fd = open(path ? path : "", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && !ftruncate(fd, len))
		map = mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return map;
}

int kfbrick_connect(const struct kfbrick_config *config, struct kfbrick **out)
{
	struct kfbrick *k;
	void *map;
	int err;

	err = model_enter("connect", "%s %s %02x %" PRIu32 "%s", config->brick,
			  config->client ? config->client : "-",
			  config->key ? config->key[0] : 0, config->timeout_ms,
			  config->allow_untrusted_tcp ? " untrusted" : "");
	if (err)
		return err;
	map = open_state();
	k = calloc(1, sizeof(*k));
	if (map == MAP_FAILED || !k)
		abort();
	k->state = map;
	k->blocks = (uint8_t *)map + HEADER_BYTES;
	*out = k;
	return 0;
}

void kfbrick_close(struct kfbrick *k)
{
	free(k);
}

const char *kfbrick_error(const struct kfbrick *k)
{
	return error_text;
}

/* For the library's own kfbrick_key_read(). */
int kfbl_fail(struct kfbrick *k, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

int kfbl_fail(struct kfbrick *k, int error, const char *fmt, ...)
{
	static char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	error_text = text;
	return error;
}

uint32_t kfbrick_lease_ms(const struct kfbrick *k)
{
	return 10000;
}

int kfbrick_get_info(struct kfbrick *k, struct kfbrick_info *info)
{
	bool is_volatile = getenv("MODEL_VOLATILE");
	uint32_t mode =
		is_volatile ? KFBRICK_FLUSH_NONE : KFBRICK_FLUSH_MESSAGE;
	int err = model_enter("info", "-");
	unsigned int i;

	if (err)
		return err;
	*info = (struct kfbrick_info){
		.size = sizeof(*info),
		.uuid = { 0x01, 0x23, 0x45 },
		.instance_id = UINT64_MAX,
		.power_epoch = 7,
		.slots_total = MODEL_BLOCKS,
		.alloc_max_blocks = MODEL_BATCH_MAX,
		.map_extent_max_bytes = 1ULL << 30,
		.lease_ms = MODEL_LEASE,
		.mappings_max = MODEL_MAPPINGS,
		.medium = is_volatile ? KFBRICK_MEDIUM_VOLATILE
				      : KFBRICK_MEDIUM_FILE,
		.flush_modes = mode,
		.flush_mode = mode,
		.flush_why = "it is a model",
	};
	for (i = 0; i < MODEL_BLOCKS; i++)
		info->slots_free += !k->state->allocated[i];
	return 0;
}

/* MODEL_PATH: "NUMBER INTERFACE"; loopback without it. */
enum kfbrick_path kfbrick_get_path(const struct kfbrick *k,
				   char interface[KFBRICK_INTERFACE_BYTES])
{
	const char *path = getenv("MODEL_PATH");
	const char *name = path ? strchr(path, ' ') : NULL;

	snprintf(interface, KFBRICK_INTERFACE_BYTES, "%s",
		 name ? name + 1 : "");
	return path ? (enum kfbrick_path)strtoul(path, NULL, 10)
		    : KFBRICK_PATH_LOOPBACK;
}

/* MODEL_QUOTA: of the client's, whose are all that are allocated. */
void kfbrick_get_rate(const struct kfbrick *k, uint64_t *bytes_per_s,
		      uint32_t *ops_per_s)
{
	const char *bytes = getenv("MODEL_RATE_BYTES");
	const char *ops = getenv("MODEL_RATE_OPS");

	*bytes_per_s = bytes ? strtoull(bytes, NULL, 10) : 0;
	*ops_per_s = ops ? (uint32_t)strtoul(ops, NULL, 10) : 0;
}

int kfbrick_get_quota(struct kfbrick *k, uint64_t *quota_blocks,
		      uint64_t *used_blocks)
{
	const char *quota = getenv("MODEL_QUOTA");
	int err = model_enter("quota", "-");
	unsigned int i;

	if (err)
		return err;
	*quota_blocks = quota ? strtoul(quota, NULL, 10) : KFBRICK_QUOTA_NONE;
	*used_blocks = 0;
	for (i = 0; quota && i < MODEL_BLOCKS; i++)
		*used_blocks += k->state->allocated[i];
	return 0;
}

/* One, as large as the model. */
size_t kfbrick_get_grants(const struct kfbrick *k, struct kfbrick_grant *grants,
			  size_t max)
{
	if (max)
		grants[0] = (struct kfbrick_grant){
			.n_blocks = MODEL_BLOCKS - MODEL_TOP,
			.access = KFBRICK_GRANT_RW,
		};
	return 1;
}

int kfbrick_ping(struct kfbrick *k)
{
	return model_enter("ping", "-");
}

int kfbrick_fence(struct kfbrick *k, const char *client)
{
	return model_enter("fence", "%s", client);
}

int kfbrick_admit(struct kfbrick *k, const char *client)
{
	return model_enter("admit", "%s", client);
}

/* There are two: "one", a fencer with a session, and "two", which is fenced. */
static void fill_client(struct kfbrick_client *client, bool is_one)
{
	snprintf(client->name, sizeof(client->name), is_one ? "one" : "two");
	client->is_fenced = !is_one;
	client->is_fencer = is_one;
	client->n_sessions = is_one;
}

int kfbrick_get_client(struct kfbrick *k, const char *name,
		       struct kfbrick_client *client)
{
	int err = model_enter("get_client", "%s", name);

	if (err)
		return err;
	if (strcmp(name, "one") != 0 && strcmp(name, "two") != 0)
		return refuse(KFB_OP_CLIENT, -ENOENT);
	fill_client(client, !strcmp(name, "one"));
	return 0;
}

int kfbrick_next_client(struct kfbrick *k, const char *after,
			struct kfbrick_client *client)
{
	int err = model_enter("next_client", "%s", *after ? after : "-");

	if (err)
		return err;
	if (strcmp(after, "two") >= 0)
		return -ENOENT;
	fill_client(client, strcmp(after, "one") < 0);
	return 0;
}

int kfbrick_reserve(struct kfbrick *k, const struct kfbrick_reserve *want)
{
	return model_enter("reserve",
			   "%u type %u key %" PRIu64 " new %" PRIu64
			   " flags %u",
			   want->action, want->type, want->key, want->new_key,
			   want->flags);
}

/* "one" and "two" have registered, and "two" holds it. */
int kfbrick_get_reservation(struct kfbrick *k, uint64_t va, uint64_t n_blocks,
			    struct kfbrick_reservation *r)
{
	int err = model_enter("get_reservation", "-");

	if (err)
		return err;
	r->n_blocks = 4;
	r->generation = 7;
	r->type = KFBRICK_RESERVED_WRITE_EXCLUSIVE_REG_ONLY;
	r->n_registrants = 2;
	r->registrants[0] = (struct kfbrick_registrant){ 1, "one", 0 };
	r->registrants[1] = (struct kfbrick_registrant){ 42, "two", 1 };
	return 0;
}

/* MODEL_EVENT: a kind, once; MODEL_CAUSE: of an eviction. */
int kfbrick_next_event(struct kfbrick *k, struct kfbrick_event *event)
{
	static bool is_taken;
	const char *cause = getenv("MODEL_CAUSE");
	const char *kind = getenv("MODEL_EVENT");

	if (!kind || is_taken)
		return 0;
	is_taken = true;
	*event = (struct kfbrick_event){
		.size = sizeof(*event),
		.kind = (uint32_t)strtoul(kind, NULL, 10),
		.cause = cause ? (uint32_t)strtoul(cause, NULL, 10) : 0,
		.uid = 1000,
	};
	return 1;
}

/* Return: 0 when all blocks of the range are allocated, or for ALLOC none. */
static int check_range(struct kfbrick *k, uint16_t op, uint64_t va, uint64_t n)
{
	bool want = op != KFB_OP_ALLOC;
	uint64_t first = model_block(va);
	uint64_t i;

	if (first >= MODEL_BLOCKS || n > MODEL_BLOCKS - first)
		return refuse(op, -EACCES);
	for (i = first; i < first + n; i++) {
		if (!k->state->allocated[i] == want)
			return refuse(op, want ? -ENOENT : -EEXIST);
	}
	return 0;
}

int kfbrick_alloc(struct kfbrick *k, uint64_t va, uint64_t n_blocks)
{
	int err = model_enter("alloc", "0x%" PRIx64 "+%" PRIu64, va, n_blocks);

	if (!err)
		err = check_range(k, KFB_OP_ALLOC, va, n_blocks);
	if (!err)
		memset(k->state->allocated + model_block(va), 1, n_blocks);
	return err;
}

int kfbrick_free(struct kfbrick *k, uint64_t va, uint64_t n_blocks)
{
	int err = model_enter("free", "0x%" PRIx64 "+%" PRIu64, va, n_blocks);

	if (!err)
		err = check_range(k, KFB_OP_FREE, va, n_blocks);
	if (!err)
		memset(k->state->allocated + model_block(va), 0, n_blocks);
	return err;
}

int kfbrick_map(struct kfbrick *k, uint64_t va, uint64_t n_blocks,
		unsigned int flags, struct kfbrick_mapping **out)
{
	struct kfbrick_mapping *m = k->state->mappings;
	int err = model_enter("map", "0x%" PRIx64 "+%" PRIu64 " 0x%x", va,
			      n_blocks, flags);

	if (!err)
		err = check_range(k, KFB_OP_MAP, va, n_blocks);
	if (err)
		return err;
	while (m->id)
		m++;
	*m = (struct kfbrick_mapping){
		.id = ++k->state->next_id,
		.first = va,
		.n_blocks = n_blocks,
		.flags = flags,
		.handle = { .va = va,
			    .n_blocks = n_blocks,
			    .key = MODEL_KEY,
			    .raddr = va + 4096,
			    .birth = 3 },
	};
	*out = m;
	return 0;
}

int kfbrick_unmap(struct kfbrick *k, struct kfbrick_mapping *mapping)
{
	int err = model_enter("unmap", "%" PRIu64, mapping->id);

	mapping->id = 0;
	return err;
}

int kfbrick_unmap_id(struct kfbrick *k, uint64_t mapping_id)
{
	int err = model_enter("unmap_id", "0x%" PRIx64, mapping_id);
	unsigned int i;

	for (i = 0; i < MODEL_MAPPINGS && !err; i++) {
		if (k->state->mappings[i].id != mapping_id)
			continue;
		k->state->mappings[i].id = 0;
		return 0;
	}
	return err ? err : -ENOENT;
}

uint64_t kfbrick_mapping_id(const struct kfbrick_mapping *mapping)
{
	return mapping->id;
}

size_t kfbrick_mapping_handles(const struct kfbrick_mapping *mapping,
			       const struct kfbrick_handle **handles)
{
	*handles = &mapping->handle;
	return 1;
}

static struct kfbrick_extent extent_of(struct kfbrick *k, uint64_t i,
				       unsigned int what)
{
	const struct kfbrick_mapping *m;

	if (what == KFBRICK_LIST_ALLOCATED)
		return (struct kfbrick_extent){
			.va = i * KFBRICK_BLOCK_BYTES,
			.n_blocks = k->state->allocated[i],
		};
	m = &k->state->mappings[i];
	return (struct kfbrick_extent){
		.va = m->first,
		.n_blocks = m->id ? m->n_blocks : 0,
		.mapping_id = what == KFBRICK_LIST_MINE ? m->id : 0,
		.flags = KFBRICK_EXTENT_MAPPED | KFBRICK_EXTENT_RW,
	};
}

int kfbrick_list(struct kfbrick *k, unsigned int what, uint64_t *cursor,
		 struct kfbrick_extent *extents, size_t max,
		 uint64_t *change_counter)
{
	const uint64_t end =
		what == KFBRICK_LIST_ALLOCATED ? MODEL_BLOCKS : MODEL_MAPPINGS;
	int err = model_enter("list", "%u 0x%" PRIx64, what, *cursor);
	const char *page = getenv("MODEL_PAGE");
	static uint64_t counter = 41;
	size_t n = 0;
	uint64_t i;

	if (err)
		return err;
	if (page && strtoul(page, NULL, 10) < max)
		max = strtoul(page, NULL, 10);
	for (i = *cursor; i < end && n < max; i++) {
		extents[n] = extent_of(k, i, what);
		n += extents[n].n_blocks != 0;
	}
	*cursor = i < end ? i : 0;
	counter += getenv("MODEL_CHANGING") != NULL;
	if (change_counter)
		*change_counter = counter;
	return (int)n;
}
