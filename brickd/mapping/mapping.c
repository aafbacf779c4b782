// SPDX-License-Identifier: BSD-2-Clause
/* The table of mappings: ids, order by address, conflicts. */
#include "brickd/mapping/mapping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/kfb_wire.h"

#define TAG_SHIFT   40
#define COUNTER_MAX ((1ULL << TAG_SHIFT) - 1)
/* Neighbours in one listed extent. */
#define MERGES_MAX 8
/* Of those in the way that are about to go so many are looked at. */
#define ENDING_MAX 64

void brick_mappings_init(struct brick_mappings *all, uint64_t instance_id,
			 bool (*is_ending)(const struct brick_session *session))
{
	memset(all, 0, sizeof(*all));
	all->is_ending = is_ending;
	all->tag = instance_id << TAG_SHIFT;
	if (!all->tag)
		all->tag = 1ULL << TAG_SHIFT;
}

struct brick_span brick_mapping_hull(const struct brick_mapping *m)
{
	return (struct brick_span){ m->handles[0].span.first,
				    m->handles[m->n - 1].span.end };
}

/* ---- the index ----------------------------------------------------------- */

static struct brick_interval *note_interval(struct brick_intervals *in,
					    struct brick_span span,
					    uint32_t classes,
					    struct brick_mapping *owner)
{
	struct brick_interval *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->span = span;
	i->classes = classes;
	i->owner = owner;
	brick_intervals_add(in, i);
	return i;
}

static void forget_interval(struct brick_intervals *in,
			    struct brick_interval **i)
{
	if (!*i)
		return;
	brick_intervals_del(in, *i);
	free(*i);
	*i = NULL;
}

static int note_handle(struct brick_mappings *all, struct brick_mapping *m,
		       struct brick_handle *h)
{
	uint32_t classes = 1U << BRICK_INTERVALS_ALL;
	bool write = m->flags & KFB_MAP_RW;

	if (write)
		classes |= 1U << BRICK_INTERVALS_RW;
	if (m->flags & KFB_MAP_EXCLUSIVE)
		classes |= 1U << BRICK_INTERVALS_EXCLUSIVE;
	h->interval = note_interval(&all->by_block, h->span, classes, m);
	if (h->interval && write)
		h->written = note_interval(&m->holdings->written, h->span,
					   1U << BRICK_INTERVALS_ALL, NULL);
	if (h->interval && (!write || h->written)) {
		all->n_handles++;
		return 0;
	}
	forget_interval(&all->by_block, &h->interval);
	return -ENOMEM;
}

/* ---- coming and going ---------------------------------------------------- */

int brick_mappings_note(struct brick_mappings *all, struct brick_mapping *m)
{
	size_t left = BRICK_MAPPING_STEP;

	for (; m->n_noted < m->n && left--; m->n_noted++)
		if (note_handle(all, m, &m->handles[m->n_noted]))
			return -ENOMEM;
	return 0;
}

int brick_mappings_add(struct brick_mappings *all, struct brick_mapping *m)
{
	if (all->last >= COUNTER_MAX)
		return -ENOMEM;
	while (m->n_noted < m->n)
		if (brick_mappings_note(all, m))
			return -ENOMEM;
	m->id = all->tag | ++all->last;
	all->n++;
	m->by_id = (struct brick_interval){
		.span = { m->id, m->id + 1 },
		.classes = 1U << BRICK_INTERVALS_ALL,
		.owner = m,
	};
	brick_intervals_add(&m->holdings->mappings, &m->by_id);
	return 0;
}

static void forget_id(struct brick_mappings *all, struct brick_mapping *m)
{
	if (!m->id)
		return;
	brick_intervals_del(&m->holdings->mappings, &m->by_id);
	all->n--;
}

void brick_mappings_shorten(struct brick_mappings *all, struct brick_mapping *m)
{
	size_t n = m->n < BRICK_MAPPING_STEP ? m->n : BRICK_MAPPING_STEP;
	struct brick_handle *last = &m->handles[m->n - n];

	brick_mappings_forget(all, last, n);
	brick_holdings_flushed(m->holdings, last, n);
	m->n -= n;
	m->n_noted = m->n;
	if (!m->n)
		forget_id(all, m);
}

int brick_mappings_take_handles(struct brick_mappings *all,
				struct brick_mapping *m, size_t first, size_t n,
				struct brick_handle **out)
{
	struct brick_handle *taken = m->handles;

	if (n < m->n) {
		taken = calloc(n, sizeof(*taken));
		if (!taken)
			return -ENOMEM;
		memcpy(taken, &m->handles[first], n * sizeof(*taken));
		memmove(&m->handles[first], &m->handles[first + n],
			(m->n - first - n) * sizeof(*taken));
	} else {
		m->handles = NULL;
	}
	*out = taken;
	m->n -= n;
	m->n_noted = m->n;
	m->n_leaving++;
	if (!m->n)
		forget_id(all, m);
	return 0;
}

void brick_mappings_forget(struct brick_mappings *all,
			   struct brick_handle *handles, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		all->n_handles -= handles[i].interval != NULL;
		forget_interval(&all->by_block, &handles[i].interval);
	}
}

void brick_mapping_put(struct brick_mapping *m)
{
	if (--m->n_leaving || m->n)
		return;
	free(m->handles);
	free(m);
}

/* ---- what a client has --------------------------------------------------- */

void brick_holdings_flushed(struct brick_holdings *holdings,
			    struct brick_handle *handles, size_t n)
{
	for (size_t i = 0; i < n; i++)
		forget_interval(&holdings->written, &handles[i].written);
}

bool brick_holdings_written(const struct brick_holdings *holdings,
			    uint64_t block, struct brick_span *out)
{
	const struct brick_intervals *in = &holdings->written;
	uint64_t end = brick_intervals_end(in, BRICK_INTERVALS_ALL, block + 1);

	if (end <= block) {
		block = brick_intervals_next(in, BRICK_INTERVALS_ALL,
					     block + 1);
		if (block == UINT64_MAX)
			return false;
		end = brick_intervals_end(in, BRICK_INTERVALS_ALL, block + 1);
	}
	*out = (struct brick_span){ block, end };
	return true;
}

void brick_holdings_list(const struct brick_holdings *holdings, uint64_t id,
			 bool (*visit)(const struct brick_interval *found,
				       void *arg),
			 void *arg)
{
	brick_intervals_overlap(&holdings->mappings, BRICK_INTERVALS_ALL,
				(struct brick_span){ id, UINT64_MAX }, visit,
				arg);
}

static bool take_owner(const struct brick_interval *found, void *arg)
{
	struct brick_mapping **out = arg;

	*out = found->owner;
	return false;
}

int brick_mappings_find(const struct brick_mappings *all,
			const struct brick_holdings *holdings, uint64_t id,
			struct brick_mapping **out)
{
	if ((id & ~COUNTER_MAX) != all->tag)
		return -ESTALE;
	*out = NULL;
	brick_intervals_overlap(&holdings->mappings, BRICK_INTERVALS_ALL,
				(struct brick_span){ id, id + 1 }, take_owner,
				out);
	return *out && !all->is_ending((*out)->session) ? 0 : -ENOENT;
}

size_t brick_mapping_from(const struct brick_mapping *m, uint64_t block)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->handles[mid].span.end <= block)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* ---- what is where ------------------------------------------------------- */

/* Of those in the way: whether they stay, and how many more are looked at. */
struct obstacles {
	const struct brick_mappings *all;
	int rc;
	int left;
};

static int refusal_by(const struct brick_mappings *all,
		      const struct brick_mapping *in_the_way)
{
	return all->is_ending(in_the_way->session) ? -EAGAIN : -EBUSY;
}

static bool look_at_obstacle(const struct brick_interval *found, void *arg)
{
	struct obstacles *o = arg;

	o->rc = refusal_by(o->all, found->owner);
	return o->rc == -EAGAIN && --o->left;
}

int brick_mappings_conflict(const struct brick_mappings *all,
			    struct brick_span span, bool shared)
{
	struct obstacles o = { .all = all, .left = ENDING_MAX };

	brick_intervals_overlap(&all->by_block,
				shared ? BRICK_INTERVALS_EXCLUSIVE
				       : BRICK_INTERVALS_ALL,
				span, look_at_obstacle, &o);
	return o.rc;
}

struct outlived {
	const struct brick_mappings *all;
	const struct brick_session *mine;
	struct brick_span span;
	int rc;
};

/* Of what this client has: others may have any number of handles there. */
static bool look_at_own(const struct brick_interval *found, void *arg)
{
	const struct brick_mapping *m = found->owner;
	struct outlived *o = arg;
	size_t i;

	if (m->session == o->mine || !(m->flags & KFB_MAP_RW))
		return true;
	i = brick_mapping_from(m, o->span.first);
	if (i == m->n || m->handles[i].span.first >= o->span.end)
		return true;
	o->rc = refusal_by(o->all, m);
	return o->rc == -EAGAIN;
}

int brick_mappings_outlived(const struct brick_mappings *all,
			    const struct brick_session *mine,
			    const struct brick_holdings *holdings,
			    struct brick_span span)
{
	struct outlived o = { .all = all, .mine = mine, .span = span };

	if (holdings->n_sessions > 1)
		brick_holdings_list(holdings, 0, look_at_own, &o);
	return o.rc;
}

/* Up to where a class has a block and those behind it; or has none of them. */
static bool is_covered(const struct brick_intervals *all,
		       enum brick_interval_class of, uint64_t block,
		       uint64_t *until)
{
	uint64_t end = brick_intervals_end(all, of, block + 1);

	if (end <= block) {
		*until = brick_intervals_next(all, of, block + 1);
		return false;
	}
	*until = 0;
	for (int i = 0; i < MERGES_MAX && end > *until; i++) {
		*until = end;
		end = brick_intervals_end(all, of, *until + 1);
	}
	return true;
}

/* What covers a block, and up to where it is the same. */
static uint32_t flags_at(const struct brick_mappings *all, uint64_t block,
			 uint64_t *until)
{
	static const uint32_t shown[BRICK_INTERVALS_CLASSES] = {
		[BRICK_INTERVALS_ALL] = KFB_EXTENT_MAPPED,
		[BRICK_INTERVALS_RW] = KFB_EXTENT_RW,
		[BRICK_INTERVALS_EXCLUSIVE] = KFB_EXTENT_EXCLUSIVE,
	};
	uint32_t flags = 0;
	uint64_t border;

	*until = UINT64_MAX;
	for (int of = 0; of < BRICK_INTERVALS_CLASSES; of++) {
		if (is_covered(&all->by_block, of, block, &border))
			flags |= shown[of];
		if (border < *until)
			*until = border;
	}
	return flags;
}

int brick_mappings_union(const struct brick_mappings *all, uint64_t from,
			 struct brick_span *out, uint32_t *flags)
{
	uint64_t until;

	*flags = flags_at(all, from, &until);
	if (!*flags) {
		if (until == UINT64_MAX)
			return -ENOENT;
		from = until;
		*flags = flags_at(all, from, &until);
	}
	*out = (struct brick_span){ from, until };
	return 0;
}

int brick_mapping_cut(const struct brick_mapping *m, struct brick_span span,
		      size_t *first, size_t *n)
{
	size_t from = brick_mapping_from(m, span.first);
	uint64_t block = span.first;
	bool whole;
	size_t at;

	whole = from < m->n && m->handles[from].span.first == span.first;
	for (at = from; at < m->n && block < span.end; at++) {
		if (m->handles[at].span.first > block)
			return -ENOENT;
		block = m->handles[at].span.end;
	}
	if (block < span.end)
		return -ENOENT;
	if (!whole || block != span.end)
		return -EINVAL;
	*first = from;
	*n = at - from;
	return 0;
}
