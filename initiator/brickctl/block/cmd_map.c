// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl map: maps blocks, prints their handles and holds them.
 *
 * The signals that end the hold are blocked before the handles are printed, so
 * that whoever reads the handles may send one at once.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "initiator/brickctl/base/brickctl.h"

#define HOLD_FOREVER_MS UINT64_MAX
#define HOLD_MAX_S	(365 * 86400)
/* A lease is renewed this many times before it could end. */
#define RENEWALS    3
#define PING_MIN_MS 100
#define PING_MAX_MS 5000
#define MS_PER_S    1000
#define NS_PER_MS   1000000
#define WHAT_BYTES  32

enum {
	OPT_RW,
	OPT_RO,
	OPT_SHARED,
	OPT_EXCLUSIVE,
	OPT_NOWAIT,
	OPT_HOLD
};

static const struct ctl_option options[] = {
	[OPT_RW] = { "rw", 0, NULL, "to read and write (the default)" },
	[OPT_RO] = { "ro", 0, NULL, "to read only" },
	[OPT_SHARED] = { "shared", 0, NULL,
			 "others may map it shared too (the default with --ro)" },
	[OPT_EXCLUSIVE] = { "exclusive", 0, NULL,
			    "nobody else may map it (the default with --rw)" },
	[OPT_NOWAIT] = { "nowait", 0, NULL, "do not wait for what would pass" },
	[OPT_HOLD] = { "hold", 0, "SECONDS",
		       "give it back after so long; 0: at once" },
	{ NULL },
};

struct map_request {
	uint64_t va;
	uint64_t n_blocks;
	unsigned int flags;
	uint64_t hold_ms;
};

static int read_request(struct ctl *ctl, const struct ctl_args *args,
			struct map_request *r)
{
	const char *const *given = args->options;
	uint64_t seconds;
	int status;

	if (given[OPT_RW] && given[OPT_RO])
		return ctl_usage(ctl, "--rw and --ro exclude each other");
	if (given[OPT_SHARED] && given[OPT_EXCLUSIVE])
		return ctl_usage(ctl,
				 "--shared and --exclusive exclude each other");
	r->flags = given[OPT_RO] ? KFBRICK_MAP_RO : KFBRICK_MAP_RW;
	if (given[OPT_SHARED] || (given[OPT_RO] && !given[OPT_EXCLUSIVE]))
		r->flags |= KFBRICK_MAP_SHARED;
	else
		r->flags |= KFBRICK_MAP_EXCLUSIVE;
	if (given[OPT_NOWAIT])
		r->flags |= KFBRICK_MAP_NOWAIT;
	r->hold_ms = HOLD_FOREVER_MS;
	if (given[OPT_HOLD]) {
		status = ctl_read_option(ctl, args, OPT_HOLD, 0, HOLD_MAX_S,
					 &seconds);
		if (status)
			return status;
		r->hold_ms = seconds * MS_PER_S;
	}
	return ctl_read_range(ctl, args->words[0], &r->va, &r->n_blocks);
}

static void print_map_json(const struct kfbrick_mapping *mapping)
{
	struct json_object *object = json_object_new_object();
	struct json_object *array = json_object_new_array();
	const struct kfbrick_handle *handles;
	struct json_object *handle;
	size_t n;
	size_t i;

	n = kfbrick_mapping_handles(mapping, &handles);
	for (i = 0; i < n; i++) {
		handle = json_object_new_object();
		ctl_json_hex(handle, "va", handles[i].va);
		ctl_json_count(handle, "n_blocks", handles[i].n_blocks);
		ctl_json_hex(handle, "key", handles[i].key);
		ctl_json_hex(handle, "raddr", handles[i].raddr);
		ctl_json_count(handle, "birth", handles[i].birth);
		json_object_array_add(array, handle);
	}
	ctl_json_id(object, "mapping_id", kfbrick_mapping_id(mapping));
	json_object_object_add(object, "handles", array);
	ctl_json_print(object);
}

static void print_map_text(const struct kfbrick_mapping *mapping)
{
	char id[CTL_ID_TEXT_BYTES];
	const struct kfbrick_handle *handles;
	size_t n;
	size_t i;

	printf("mapping %s\n", ctl_id_text(id, kfbrick_mapping_id(mapping)));
	printf("%-18s %8s %-18s %-18s %s\n", "ADDRESS", "BLOCKS", "KEY",
	       "REMOTE ADDRESS", "BIRTH");
	n = kfbrick_mapping_handles(mapping, &handles);
	for (i = 0; i < n; i++)
		printf("0x%016" PRIx64 " %8" PRIu64 " 0x%-16" PRIx64
		       " 0x%016" PRIx64 " %" PRIu32 "\n",
		       handles[i].va, handles[i].n_blocks, handles[i].key,
		       handles[i].raddr, handles[i].birth);
}

static uint64_t map_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * MS_PER_S + (uint64_t)t.tv_nsec / NS_PER_MS;
}

static uint64_t ping_every_ms(struct ctl *ctl)
{
	struct kfbrick_info info = { .size = sizeof(info) };
	uint64_t ms = PING_MAX_MS;

	if (!kfbrick_get_info(ctl->k, &info) && info.lease_ms)
		ms = info.lease_ms / RENEWALS;
	if (ms < PING_MIN_MS)
		ms = PING_MIN_MS;
	return ms < PING_MAX_MS ? ms : PING_MAX_MS;
}

/* Tell whoever holds a mapping what the brick wants of it. */
static void tell_events(struct ctl *ctl)
{
	struct kfbrick_event event = { .size = sizeof(event) };

	while (kfbrick_next_event(ctl->k, &event) > 0) {
		if (event.kind == KFBRICK_EVENT_RECALL)
			ctl_note(ctl, "the brick is short of memory and asks "
				      "for this mapping; Ctrl-C gives it back");
		else if (event.kind == KFBRICK_EVENT_MEDIA_ERROR)
			ctl_note(ctl, "the brick's medium has lost blocks: see "
				      "brickctl list");
		else if (event.kind == KFBRICK_EVENT_RATE)
			ctl_note(ctl, "the brick allows another rate: see "
				      "brickctl info");
		else if (event.kind == KFBRICK_EVENT_EVICTED)
			ctl_note_evicted(ctl, &event);
	}
}

static int hold_mapping(struct ctl *ctl, const sigset_t *signals, uint64_t va,
			uint64_t hold_ms)
{
	uint64_t every_ms = hold_ms ? ping_every_ms(ctl) : 0;
	uint64_t start_ms = map_now_ms();
	char what[WHAT_BYTES];
	struct timespec t;
	uint64_t held_ms;
	uint64_t wait_ms;
	int err;

	for (;;) {
		held_ms = map_now_ms() - start_ms;
		if (held_ms >= hold_ms)
			return CTL_DONE;
		wait_ms = hold_ms - held_ms;
		if (wait_ms > every_ms)
			wait_ms = every_ms;
		t.tv_sec = (time_t)(wait_ms / MS_PER_S);
		t.tv_nsec = (long)(wait_ms % MS_PER_S) * NS_PER_MS;
		if (sigtimedwait(signals, NULL, &t) > 0)
			return CTL_DONE;
		err = kfbrick_ping(ctl->k);
		if (err)
			break;
		tell_events(ctl);
	}
	/* Nothing is unknown here: a mapping does not outlive its session. */
	snprintf(what, sizeof(what), "holding 0x%" PRIx64, va);
	return ctl_fail_as(ctl, CTL_UNREACHED, err,
			   "its keys are dead: map it again", what);
}

static int map_and_hold(struct ctl *ctl, const struct map_request *r)
{
	struct kfbrick_mapping *mapping = NULL;
	sigset_t signals;
	int status;
	int err;

	err = kfbrick_map(ctl->k, r->va, r->n_blocks, r->flags, &mapping);
	if (err)
		return ctl_fail_range(ctl, err, r->va, r->n_blocks);
	ctl->under_way = true;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (ctl->json)
		print_map_json(mapping);
	else
		print_map_text(mapping);
	fflush(stdout);
	status = hold_mapping(ctl, &signals, r->va, r->hold_ms);
	if (status)
		return status;
	err = kfbrick_unmap(ctl->k, mapping);
	if (err == -ENOENT || err == -ESTALE)
		ctl_note(ctl, "the mapping of 0x%" PRIx64 " had ended before",
			 r->va);
	else if (err)
		return ctl_fail_call(ctl, err, "giving back 0x%" PRIx64, r->va);
	return CTL_DONE;
}

static int run_map(struct ctl *ctl, const struct ctl_args *args)
{
	struct map_request request = { 0 };
	int status;

	status = read_request(ctl, args, &request);
	if (!status)
		status = ctl_connect(ctl);
	return status ? status : map_and_hold(ctl, &request);
}

const struct ctl_command ctl_cmd_map = {
	.name = "map",
	.synopsis = "VA+N [OPTION...]",
	.summary = "Maps blocks, prints their handles and holds them",
	.details =
		"Prints the mapping's id and for each handle the address, the number of blocks,\n"
		"the RDMA key, the remote address and the birth, then keeps the mapping until\n"
		"Ctrl-C, SIGTERM, SIGHUP or the end of --hold and gives it back.\n"
		"\n"
		"Example: brickctl map 0x0+128 --ro --hold 60",
	.options = options,
	.words = 1,
	.changes = true,
	.run = run_map,
};
