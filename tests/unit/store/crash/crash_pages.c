// SPDX-License-Identifier: BSD-2-Clause
/* Power failures while a store is opened, closed and formatted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/store/store_impl.h"
#include "crash_load.h"
#include "crash_pages.h"
#include "crash_states.h"

/* What an instance page says that a start goes by. */
struct page {
	uint64_t epoch;
	bool clean;
};

struct pages {
	struct crash_load l;
	struct page was; /* before the operation under way */
	struct page is; /* after it, and when there is none */
	uint64_t boot;
	uint64_t n_alloc; /* blocks: settled before pages are written */
	uint8_t uuid; /* of the store; its first byte */
	uint8_t new_uuid; /* of the one that is being written */
	bool is_whole; /* the new one must be there */
	struct crash_states states;
};

static struct brick_store *open_at(struct crash_medium *cm, uint64_t boot,
				   int *error)
{
	struct brick_store_open o = { .instance_id = boot };
	struct brick_store *s = NULL;
	char err[256];

	memcpy(o.boot_id, &boot, sizeof(boot));
	*error = brick_store_open(&cm->m, &o, &s, err, sizeof(err));
	return *error ? NULL : s;
}

static void count(struct crash_load *l, uint64_t shown)
{
	l->run->n_states++;
	l->run->fingerprint =
		(l->run->fingerprint ^ l->seed ^ shown) * 0x100000001b3ULL;
	if (l->run->max_states && l->run->n_states >= l->run->max_states)
		l->stop = true;
}

/* The epoch that a start after a reboot must have. */
static uint64_t epoch_after(const struct page *page)
{
	return page->epoch + (page->clean ? 0 : 1);
}

static bool check_pages(struct crash_medium *cm, void *arg)
{
	struct pages *p = arg;
	struct brick_store_stats stats;
	struct brick_store *s;
	int error;

	/* A boot that was never seen before. */
	s = open_at(cm, ~++p->l.n_opened, &error);
	if (!s) {
		crash_blame(&p->l, "a page update makes a start refuse");
		return false;
	}
	brick_store_stats(s, &stats);
	count(&p->l, stats.power_epoch);
	if (stats.power_epoch != epoch_after(&p->was) &&
	    stats.power_epoch != epoch_after(&p->is))
		crash_blame(&p->l, "the power epoch is not what it must be");
	if (stats.slots_alloc != p->n_alloc)
		crash_blame(&p->l, "a page update costs blocks");
	brick_store_close(s, false);
	return !p->l.stop;
}

/* Both for pages and format: states.fn looks at each state. */
static void on_point(struct crash_medium *cm, void *arg)
{
	struct pages *p = arg;

	if (p->l.stop)
		return;
	crash_states(cm, &p->states);
	if (p->states.all)
		p->l.run->n_points_all++;
	else
		p->l.run->n_points_some++;
}

static void set_up(struct pages *p, struct crash_run *run,
		   bool (*fn)(struct crash_medium *cm, void *arg))
{
	memset(p, 0, sizeof(*p));
	p->l.run = run;
	p->l.seed = run->seed;
	p->l.cm = crash_medium_new(run->n_slots, 0, 2);
	p->l.cm->on_point = on_point;
	p->l.cm->arg = p;
	p->states.exhaustive = run->exhaustive;
	p->states.random = run->random;
	p->states.seed = &p->l.seed;
	p->states.fn = fn;
	p->states.arg = p;
}

static void format(struct pages *p)
{
	struct brick_store_format f = { .uuid = { p->new_uuid },
					.force = true };
	char err[256];

	if (brick_store_format(&p->l.cm->m, &f, err, sizeof(err)))
		crash_blame(&p->l, "format failed");
}

/* One copy of what a start repairs first. */
static void lose_a_line(struct pages *p)
{
	struct crash_load *l = &p->l;
	uint64_t page = crash_roll(l, 2) ? BRICK_FMT_SUPER : BRICK_FMT_COMMIT;
	uint64_t off = crash_roll(l, BRICK_FMT_COPIES) * BRICK_FMT_PAGE;

	(void)crash_lose_line(l, l->cm, page + off);
}

static struct brick_store *step_open(struct pages *p)
{
	struct brick_store *s;
	bool reboot = !p->is.clean || crash_roll(&p->l, 2);
	int error;

	if (reboot)
		p->boot++;
	if (!crash_roll(&p->l, 4))
		lose_a_line(p);
	p->was = p->is;
	p->is.epoch += reboot && !p->was.clean ? 1 : 0;
	p->is.clean = false;
	s = open_at(p->l.cm, p->boot, &error);
	p->was = p->is;
	if (!s)
		crash_blame(&p->l, "a start refuses");
	else
		on_point(p->l.cm, p);
	return s;
}

/* Blocks come and go; the batch's own crash states are other runs' matter. */
static void step_change(struct pages *p, struct brick_store *s)
{
	struct brick_store_op op = { .kind = BRICK_STORE_ALLOC, .n_blocks = 2 };

	p->l.cm->on_point = NULL;
	if (p->n_alloc)
		op.kind = BRICK_STORE_FREE;
	brick_store_commit(s, &op);
	if (op.error || brick_store_drain(s))
		crash_blame(&p->l, "an operation failed");
	p->n_alloc = op.kind == BRICK_STORE_ALLOC ? op.n_blocks : 0;
	p->l.cm->on_point = on_point;
}

static void step_close(struct pages *p, struct brick_store *s)
{
	bool clean = crash_roll(&p->l, 2);

	p->is.clean = clean;
	brick_store_close(s, clean);
	p->was = p->is;
	on_point(p->l.cm, p);
}

void crash_run_pages(struct crash_run *run)
{
	struct brick_store *s;
	struct pages p;

	set_up(&p, run, check_pages);
	p.l.cm->on_point = NULL;
	p.new_uuid = 1;
	format(&p);
	p.is.epoch = 1;
	p.is.clean = true;
	p.was = p.is;
	p.l.cm->on_point = on_point;
	for (run->step = 0; run->step < run->n_steps && !p.l.stop;
	     run->step++) {
		s = step_open(&p);
		if (!s)
			break;
		if (crash_roll(&p.l, 2))
			step_change(&p, s);
		step_close(&p, s);
	}
	crash_medium_free(p.l.cm);
}

static bool check_format(struct crash_medium *cm, void *arg)
{
	struct pages *p = arg;
	struct brick_store_stats stats;
	struct brick_store *s;
	int error;

	s = open_at(cm, ~++p->l.n_opened, &error);
	if (!s) {
		count(&p->l, 0);
		if (error != -ENOENT || p->is_whole)
			crash_blame(&p->l, "half a store");
		return !p->l.stop;
	}
	brick_store_stats(s, &stats);
	count(&p->l, stats.uuid[0]);
	if (stats.uuid[0] == p->new_uuid
		    ? stats.slots_alloc > 0
		    : stats.uuid[0] != p->uuid ||
			      stats.slots_alloc != p->n_alloc || p->is_whole)
		crash_blame(&p->l, "neither the old store nor the new one");
	if (stats.slots_bad || brick_store_recovery(s)->records_repaired)
		crash_blame(&p->l, "a new store is damaged");
	brick_store_close(s, false);
	return !p->l.stop;
}

void crash_run_format(struct crash_run *run)
{
	struct brick_store *s;
	struct pages p;
	int error;

	set_up(&p, run, check_format);
	for (run->step = 0; run->step < run->n_steps && !p.l.stop;
	     run->step++) {
		p.new_uuid = p.uuid % UINT8_MAX + 1;
		format(&p);
		p.uuid = p.new_uuid;
		p.is_whole = true;
		on_point(p.l.cm, &p);
		p.is_whole = false;
		p.l.cm->on_point = NULL;
		p.n_alloc = 0;
		s = open_at(p.l.cm, ++p.boot, &error);
		if (s) {
			step_change(&p, s);
			p.l.cm->on_point = NULL;
			brick_store_close(s, true);
		} else {
			crash_blame(&p.l, "a new store is refused");
		}
		p.l.cm->on_point = on_point;
	}
	crash_medium_free(p.l.cm);
}
