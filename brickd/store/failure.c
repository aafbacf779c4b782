// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fences of the medium and syncs of the slow tier, and what is left of a store
 * when one has failed.
 *
 * Where a drain is a system call for the whole file it is shared and made by
 * one thread at a time (syncs.h). Where it covers what the calling thread has
 * flushed, each thread makes its own, and looks afterwards whether another's
 * has failed.
 *
 * Context: any thread.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "brickd/media/media_mark.h"
#include "brickd/store/store_impl.h"

#define MARK_BYTES 128

static void note_failure(struct brick_store_failure *f, int error)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	f->error = error;
	f->time_s = (uint64_t)now.tv_sec;
}

/* The mark may be lost like anything else, and the other page be found. */
int brick_store_mark_medium(struct brick_store *s)
{
	struct brick_instance inst = s->inst;

	memset(inst.boot_id, 0, sizeof(inst.boot_id));
	inst.clean = false;
	inst.seq++;
	brick_instance_put(s->m, &s->sb, !s->inst_safe, &inst);
	return s->m->ops->drain(s->m);
}

/* The first failure is the one that is told, once the marks are made. */
static void note_medium_failure(void *arg, int error)
{
	bool is_first, is_marked = true;
	struct brick_store *s = arg;
	char why[MARK_BYTES];

	brick_store_lock(s);
	is_first = !s->failure.error;
	if (is_first)
		note_failure(&s->failure, error);
	brick_store_unlock(s);
	if (!is_first)
		return;
	/*
	 * For the next start, since the page cache will look as if nothing was.
	 * Before it was open nobody can have written anything.
	 */
	if (s->is_open) {
		bool off = false;

		(void)snprintf(why, sizeof(why), "making it durable failed: %s",
			       strerror(-s->failure.error));
		if (s->m->mark)
			off = !brick_mark_set(s->m->mark, why);
		is_marked = !brick_store_mark_medium(s) || off;
	}
	s->failure.is_marked = is_marked;
	__atomic_store_n(&s->failed, true, __ATOMIC_RELEASE);
}

static void fail_slow(void *arg, int error)
{
	struct brick_store *s = arg;

	note_failure(&s->slow_failure, error);
	__atomic_store_n(&s->slow_failed, true, __ATOMIC_RELEASE);
}

static int drain_medium(void *arg)
{
	struct brick_store *s = arg;

	return s->m->ops->drain(s->m);
}

static int sync_slow(void *arg)
{
	struct brick_store *s = arg;

	return s->slow->ops->sync(s->slow);
}

void brick_store_fences_init(struct brick_store *s)
{
	s->syncs.sync = drain_medium;
	s->syncs.failed = note_medium_failure;
	s->syncs.arg = s;
	brick_syncs_init(&s->syncs);
	s->slow_syncs.sync = sync_slow;
	s->slow_syncs.failed = fail_slow;
	s->slow_syncs.arg = s;
	brick_syncs_init(&s->slow_syncs);
}

void brick_store_fences_fini(struct brick_store *s)
{
	brick_syncs_fini(&s->syncs);
	brick_syncs_fini(&s->slow_syncs);
}

int brick_store_fence(struct brick_store *s)
{
	int ret;

	if (brick_store_has_failed(s))
		return -EIO;
	if (s->m->granularity == BRICK_GRANULARITY_PAGE)
		return brick_syncs_wait(&s->syncs);
	ret = drain_medium(s);
	if (ret)
		note_medium_failure(s, ret);
	return ret || brick_store_has_failed(s) ? -EIO : 0;
}

int brick_store_sync_slow(struct brick_store *s)
{
	return brick_syncs_wait(&s->slow_syncs);
}

int brick_store_drain(struct brick_store *s)
{
	return brick_store_fence(s);
}

const struct brick_store_failure *
brick_store_failure(const struct brick_store *s)
{
	return brick_store_has_failed(s) ? &s->failure : NULL;
}

const struct brick_store_failure *
brick_store_slow_failure(const struct brick_store *s)
{
	return brick_store_slow_has_failed(s) ? &s->slow_failure : NULL;
}
