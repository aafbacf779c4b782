// SPDX-License-Identifier: BSD-2-Clause
/* What administrators do with a brick, and what its machine does to it. */
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brick.h"
#include "brickd/admin/admin_ops.h"
#include "brickd/admin/metrics.h"
#include "brickd/admin/view.h"
#include "brickd/config/config.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/platform/platform.h"
#include "brickd/store/format/super.h"
#include "brickd/store/offline/grow.h"
#include "brickd/store/slow/slow.h"
#include "user/client.h"
#include "machine/fabric.h"
#include "machine/memory.h"
#include "oracle.h"
#include "proto/kfb_wire.h"

#define GARBAGE	 0xa5
#define AGAIN_NS SIM_MS
#define TRIES	 2000
#define GROWS	 3 /* blocks at one time */

bool __real_brick_metrics_before_wait(struct brick_view *view);
bool __wrap_brick_metrics_before_wait(struct brick_view *view);
void __real_brick_op_unmap(struct brick_op *op);
void __wrap_brick_op_unmap(struct brick_op *op);
int __wrap_brick_platform_read(const struct brick_media *m,
			       struct brick_platform *out);
int __wrap_brick_platform_clear(const struct brick_media *m,
				struct brick_bytes bytes);

static struct sim_brick *current_brick(void)
{
	return (struct sim_brick *)sim_current->process;
}

/* ---- requests of the admin socket --------------------------------------------- */

static void answer(struct brick_view *view, const char *line)
{
	struct json_object *reply = json_object_new_object();
	struct brick_admin_request request = { 0 };
	const char *why = NULL;
	int rc;

	rc = brick_admin_request_parse(line, strlen(line), &request, &why);
	if (rc)
		sim_die("%s: %s", line, why);
	rc = brick_admin_op(view, 0, &request, reply, &why);
	sim_trace("admin", "%s: %s", line, rc ? why : "done");
	json_object_put(reply);
}

/* brickd's loop, in each of its rounds. */
bool __wrap_brick_metrics_before_wait(struct brick_view *view)
{
	struct sim_brick *brick = current_brick();
	char line[SIM_REQUEST_BYTES];

	if (*brick->request) {
		memcpy(line, brick->request, sizeof(line));
		*brick->request = '\0';
		answer(view, line);
	}
	return __real_brick_metrics_before_wait(view);
}

void sim_brick_evict(struct sim_brick *brick, uint32_t client)
{
	char name[24];

	if (!brick->host.process.is_alive)
		return;
	sim_client_name(client, name);
	(void)snprintf(brick->request, sizeof(brick->request),
		       "{\"op\":\"evict\",\"client\":\"%s\"}", name);
}

void sim_brick_order(struct sim_brick *brick, uint64_t va, uint64_t which)
{
	static const char *const orders[] = { "demote", "demote", "promote",
					      "pin",	"unpin",  "show" };
	uint32_t n_orders = sizeof(orders) / sizeof(*orders);
	uint64_t n = 1 + which / n_orders % SIM_PLACES;

	if (!brick->host.process.is_alive)
		return;
	/* Behind the end of the address space there is nothing. */
	while (va + (n << KFB_BLOCK_SHIFT) - 1 < va)
		n--;
	(void)snprintf(brick->request, sizeof(brick->request),
		       "{\"op\":\"tier\",\"do\":\"%s\",\"range\":"
		       "\"0x%llx+%llu\"}",
		       orders[which % n_orders], (unsigned long long)va,
		       (unsigned long long)n);
}

/* ---- what it refuses --------------------------------------------------------------- */

void sim_brick_refuse(struct sim_brick *brick, uint64_t ns)
{
	sim_trace("brick", "unmaps nothing for %llu us",
		  (unsigned long long)(ns / SIM_US));
	brick->refuses_until_ns = sim.now_ns + ns;
}

void __wrap_brick_op_unmap(struct brick_op *op)
{
	if (sim.now_ns < current_brick()->refuses_until_ns)
		brick_op_finish(op, KFB_ST_NO_MEMORY);
	else
		__real_brick_op_unmap(op);
}

/* ---- grants ---------------------------------------------------------------------- */

static void grant_again(struct sim_event *event)
{
	struct sim_brick *brick =
		sim_container_of(event, struct sim_brick, restore);

	memset(brick->revoked, 0, sizeof(brick->revoked));
	/* One that is starting may have read them already. */
	if (brick->host.process.is_alive &&
	    !sim_process_signal(&brick->host.process, SIGHUP))
		sim_schedule(&brick->restore, sim.now_ns + AGAIN_NS);
}

void sim_brick_revoke(struct sim_brick *brick, uint32_t client, uint64_t which,
		      uint64_t ns)
{
	static const char *const what[] = {
		[SIM_GRANTED] = "nothing",
		[SIM_REMOVED] = "its name",
		[SIM_READS_ONLY] = "its right to write",
		[SIM_REKEYED] = "its key",
		[SIM_OTHER_QUOTA] = "its quota",
	};

	brick->n_revoked[client]++;
	brick->revoked[client] = (enum sim_revoked)(which % SIM_REVOKED);
	if (brick->revoked[client] == SIM_OTHER_QUOTA &&
	    !brick->settings.may_differ[client])
		brick->revoked[client] = SIM_GRANTED;
	sim_trace("admin", "takes client%u %s", client,
		  what[brick->revoked[client]]);
	if (brick->host.process.is_alive)
		sim_process_signal(&brick->host.process, SIGHUP);
	brick->restore.fire = grant_again;
	sim_schedule(&brick->restore, sim.now_ns + ns);
}

bool sim_brick_had_quota(const struct sim_brick *brick, uint32_t client,
			 uint64_t since_ns, uint32_t *quota)
{
	*quota = brick->quotas[client];
	/* Settings for which there is no memory are not taken. */
	return brick->quota_ns[client] + SIM_QUOTA_GRACE_NS <= since_ns &&
	       !sim_memory_failures(brick->host.process.number);
}

/* ---- the medium ------------------------------------------------------------------- */

static uint64_t line_in_tables(const struct sim_medium *m, uint64_t data)
{
	static const uint8_t zeros[SIM_LINE];
	uint64_t off = 0;

	/* Most of them are empty, and nobody looks there. */
	for (uint32_t tries = 0; tries < TRIES; tries++) {
		off = sim_below(data / SIM_LINE) * SIM_LINE;
		if (memcmp(m->seen + off, zeros, SIM_LINE) != 0)
			break;
	}
	return off;
}

/*
 * Its tables have everything twice, but for what is being changed: so a world has
 * one piece of them damaged, after a stop that left nothing half done.
 */
static uint64_t choose_line(struct sim_brick *brick, uint64_t which,
			    bool *in_tables)
{
	struct brick_super sb = { 0 };
	const struct brick_slow slow = { .size = brick->files.slow.bytes };
	uint64_t data;

	if (brick_super_plan(brick->medium.bytes, brick_slow_room(&slow), &sb))
		sim_die("a store that cannot be planned");
	data = brick_super_data(&sb, 0);
	*in_tables = which & 1 && !brick->is_damaged && brick->is_at_rest;
	if (*in_tables)
		return line_in_tables(&brick->medium, data);
	return data +
	       sim_below((brick->medium.bytes - data) / SIM_LINE) * SIM_LINE;
}

void sim_brick_go_bad(struct sim_brick *brick, uint64_t which, uint64_t ns)
{
	bool in_tables, is_silent = which & 2;
	uint64_t off, other;

	/* Where the tables of one that has grown are only it knows. */
	if (brick->grows_to || brick->has_grown)
		return;
	off = choose_line(brick, which, &in_tables);
	other = choose_line(brick, which, &in_tables);
	/* What cannot be read ends whoever reads it. */
	if (!in_tables)
		sim_brick_kill(brick, ns);
	brick->is_damaged |= in_tables;
	if (!in_tables && (brick->n_bad >= SIM_BAD_MAX || is_silent))
		return;
	sim_trace("medium", "the line at 0x%llx is bad%s",
		  (unsigned long long)off, in_tables ? ", in the tables" : "");
	brick->n_spoiled++;
	/* Or it has what belongs elsewhere. */
	if (in_tables && which & 4)
		sim_medium_misplace(&brick->medium, off, other);
	else
		sim_medium_overwrite(&brick->medium, off, GARBAGE);
	if (!in_tables || !is_silent)
		brick->bad[brick->n_bad++] =
			(struct brick_bytes){ off, SIM_LINE };
}

void __real_brick_op_unmap(struct brick_op *op);
void __wrap_brick_op_unmap(struct brick_op *op);
int __wrap_brick_platform_read(const struct brick_media *m,
			       struct brick_platform *out)
{
	const struct sim_brick *brick = current_brick();

	*out = (struct brick_platform){ .bad_known = true };
	if (brick->medium.files)
		return 0;
	out->backing = BRICK_BACKING_PMEM;
	out->domain = brick->medium.platform.eadr ? BRICK_DOMAIN_CACHES
						  : BRICK_DOMAIN_MEMORY;
	if (!brick->n_bad)
		return 0;
	out->bad = calloc(brick->n_bad, sizeof(*out->bad));
	if (!out->bad)
		return -ENOMEM;
	memcpy(out->bad, brick->bad, brick->n_bad * sizeof(*out->bad));
	out->n_bad = brick->n_bad;
	return 0;
}

int __wrap_brick_platform_clear(const struct brick_media *m,
				struct brick_bytes bytes)
{
	struct sim_brick *brick = current_brick();

	for (uint32_t i = 0; i < brick->n_bad; i++) {
		if (brick->bad[i].off != bytes.off)
			continue;
		sim_medium_overwrite(&brick->medium, bytes.off, 0);
		brick->bad[i] = brick->bad[--brick->n_bad];
		break;
	}
	return 0;
}

void sim_brick_neighbour_asks(struct sim_brick *brick)
{
	/* While the brick runs it has asked before, and nobody has asked since. */
	sim_files_neighbour_asks(&brick->files);
}

/* ---- a larger one ------------------------------------------------------------------ */

/* What is behind a store has been somebody else's, and is not zero. */
static void use_before(struct sim_medium *m, uint64_t end)
{
	uint64_t step = KFB_BLOCK_BYTES / SIM_CLIENT_REGS;

	for (uint64_t block = m->bytes; block < end; block += KFB_BLOCK_BYTES)
		for (uint64_t i = 0; i < SIM_CLIENT_REGS; i++)
			sim_medium_overwrite(
				m, block + i * step / SIM_LINE * SIM_LINE,
				GARBAGE);
}

void sim_brick_grow(struct sim_brick *brick, uint64_t which, bool gives_up,
		    uint64_t ns)
{
	uint64_t to =
		brick->medium.bytes + ((1 + which % GROWS) << KFB_BLOCK_SHIFT);

	if (!brick->host.process.is_alive || !brick->is_formatted ||
	    brick->grows_to)
		return;
	if (to > SIM_MEDIUM_BYTES)
		to = SIM_MEDIUM_BYTES;
	if (to == brick->medium.bytes)
		return;
	sim_trace("admin", "wants %llu bytes", (unsigned long long)to);
	if (!brick->medium.files)
		use_before(&brick->medium, to);
	brick->grows_to = to;
	brick->has_tried = false;
	brick->gives_up = gives_up;
	sim_brick_stop(brick, ns);
}

/* As brickd grow does, and again until it has, or not. */
int sim_brick_grow_store(struct sim_brick *brick, const char *path, char *err,
			 size_t err_len)
{
	struct brick_grow g = { .zero_from = UINT64_MAX };
	struct brick_media *m;
	int rc;

	if (brick->has_tried && brick->gives_up) {
		sim_trace("admin", "leaves the store as it is");
		brick->grows_to = 0;
		return 0;
	}
	brick->has_tried = true;
	brick->medium.bytes = brick->grows_to;
	if (brick->medium.files)
		sim_file_grow(&brick->files.store, brick->grows_to);
	brick->has_grown = true;
	if (brick->cuts_growth.operations)
		sim_medium_cut_after(&brick->medium, brick->cuts_growth);
	brick->cuts_growth.operations = 0;
	memcpy(g.boot_id, brick->host.boot_id, sizeof(g.boot_id));
	rc = brick_media_open(path, NULL, &m, err, err_len);
	if (rc)
		return rc;
	rc = brick_store_grow(m, &g, err, err_len);
	brick_media_close(m);
	/* One that was interrupted may have come to its end. */
	if (rc == -ENOSPC)
		rc = 0;
	if (!rc)
		brick->grows_to = 0;
	sim_trace("admin", "the store grows from %llu slots to %llu: %d",
		  (unsigned long long)g.n_before, (unsigned long long)g.n_after,
		  rc);
	return rc;
}

/* ---- at the end -------------------------------------------------------------------- */

void sim_brick_mend(struct sim_brick *brick)
{
	sim_cancel(&brick->restore);
	brick->restore.fire = grant_again;
	grant_again(&brick->restore);
	if (!brick->files.n_failed)
		return;
	/* A medium that has failed serves reads until brickd is started again. */
	if (!brick->settings.is_unmounted) {
		sim_brick_stop(brick, 0);
		return;
	}
	/* What is in memory alone is seen to be. */
	sim_brick_kill(brick, 0);
	sim_files_mount_again(&brick->files);
}
