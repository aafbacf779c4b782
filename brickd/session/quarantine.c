// SPDX-License-Identifier: BSD-2-Clause
/* Quarantine: which sessions' late operations may reach which blocks. */
#include "brickd/session/quarantine.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/storage/cleaner.h"
#include "brickd/storage/storage.h"

/* Index of the first span that ends behind a block, or touches it. */
static uint32_t find_span(const struct brick_session_quarantine *q,
			  uint64_t block)
{
	uint32_t low = 0, high = q->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (q->spans[mid].end < block)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint64_t n_blocks_of(struct brick_span span)
{
	return span.end - span.first;
}

int brick_quarantine_add(struct brick_session *s, struct brick_span span)
{
	struct brick_session_quarantine *q = &s->quarantine;
	uint32_t from, to;

	if (!q->spans) {
		q->spans = calloc(BRICK_QUARANTINE_MAX, sizeof(*q->spans));
		if (!q->spans)
			return -ENOMEM;
		LIST_INSERT_HEAD(&s->all->quarantined, s, quarantine_link);
	}
	while (!q->id)
		randombytes_buf(&q->id, sizeof(q->id));
	from = find_span(q, span.first);
	for (to = from; to < q->n && q->spans[to].first <= span.end; to++) {
		s->all->n_quarantined -= n_blocks_of(q->spans[to]);
		brick_span_widen(&span, q->spans[to]);
	}
	if (from == to && q->n == BRICK_QUARANTINE_MAX) {
		/* Too much is safe; it only makes others wait for longer. */
		from = from ? from - 1 : 0;
		to = from + 1;
		s->all->n_quarantined -= n_blocks_of(q->spans[from]);
		brick_span_widen(&span, q->spans[from]);
	}
	memmove(&q->spans[from + 1], &q->spans[to],
		(q->n - to) * sizeof(*q->spans));
	q->spans[from] = span;
	s->all->n_quarantined += n_blocks_of(span);
	q->n = q->n - (to - from) + 1;
	return 0;
}

bool brick_quarantine_is_of(const struct brick_session *s,
			    struct brick_span span)
{
	const struct brick_session_quarantine *q = &s->quarantine;
	uint32_t at = find_span(q, span.first + 1);

	return at < q->n && q->spans[at].first < span.end;
}

bool brick_quarantine_next(const struct brick_session *s, uint64_t block,
			   struct brick_span *out)
{
	const struct brick_session_quarantine *q = &s->quarantine;
	uint32_t at = find_span(q, block + 1);

	if (at == q->n)
		return false;
	*out = q->spans[at];
	if (out->first < block)
		out->first = block;
	return true;
}

bool brick_quarantine_blocks(const struct brick_sessions *all,
			     struct brick_span span,
			     const struct brick_session *but)
{
	const struct brick_session *s;

	LIST_FOREACH(s, &all->quarantined, quarantine_link)
	if (s != but && brick_quarantine_is_of(s, span))
		return true;
	return false;
}

static struct brick_hold *find_hold(struct brick_sessions *all, uint64_t token)
{
	for (size_t i = 0; i < BRICK_HOLDS_MAX; i++)
		if (all->holds[i].token == token)
			return &all->holds[i];
	return NULL;
}

int brick_quarantine_token(struct brick_sessions *all, struct brick_span span,
			   uint64_t *token)
{
	struct brick_hold hold = { 0 }, *place;
	struct brick_session *s, *last = NULL;

	LIST_FOREACH(s, &all->quarantined, quarantine_link)
	{
		if (!brick_quarantine_is_of(s, span))
			continue;
		if (hold.n == BRICK_HOLDERS_MAX)
			return -EAGAIN;
		hold.ids[hold.n++] = s->quarantine.id;
		last = s;
	}
	if (hold.n <= 1) {
		if (last)
			last->quarantine.is_token = true;
		*token = last ? last->quarantine.id : 0;
		return 0;
	}
	place = find_hold(all, 0);
	if (!place)
		return -EAGAIN;
	while (!hold.token)
		randombytes_buf(&hold.token, sizeof(hold.token));
	*place = hold;
	*token = hold.token;
	return 0;
}

void brick_quarantine_settle(struct brick_sessions *all, uint64_t token,
			     bool freed)
{
	const struct brick_session *s;
	struct brick_hold *hold;

	if (!token)
		return;
	hold = find_hold(all, token);
	if (!freed && hold)
		hold->token = 0;
	if (!freed || hold)
		return;
	/* It is still held as long as its session is there. */
	LIST_FOREACH(s, &all->quarantined, quarantine_link)
	if (s->quarantine.id == token)
		return;
	brick_store_release(all->storage->store, token);
}

/* Takes a session out of all holds; releases those it was the last of. */
static bool leave_holds(struct brick_sessions *all, uint64_t id)
{
	bool released = false;

	for (size_t i = 0; i < BRICK_HOLDS_MAX; i++) {
		struct brick_hold *hold = &all->holds[i];

		for (uint32_t j = 0; hold->token && j < hold->n; j++) {
			if (hold->ids[j] != id)
				continue;
			hold->ids[j] = hold->ids[--hold->n];
			break;
		}
		if (!hold->token || hold->n)
			continue;
		brick_store_release(all->storage->store, hold->token);
		hold->token = 0;
		released = true;
	}
	return released;
}

static uint64_t n_common(struct brick_span a, struct brick_span b)
{
	return (a.end < b.end ? a.end : b.end) -
	       (a.first > b.first ? a.first : b.first);
}

/* Return: how many blocks it was. */
static uint64_t forget_span(struct brick_session_quarantine *q,
			    struct brick_span span)
{
	uint64_t n = 0;
	uint32_t at = find_span(q, span.first + 1);

	while (at < q->n && q->spans[at].first < span.end) {
		struct brick_span *s = &q->spans[at];
		struct brick_span rest = { span.end, s->end };
		bool is_split = s->first < span.first && rest.first < rest.end;

		if (is_split && q->n == BRICK_QUARANTINE_MAX)
			break; /* no place for it: keep them */
		n += n_common(*s, span);
		if (is_split) {
			memmove(s + 1, s, (q->n - at) * sizeof(*s));
			q->n++;
			s[0].end = span.first;
			s[1] = rest;
			break;
		}
		if (s->first < span.first) {
			s->end = span.first;
			at++;
		} else if (rest.first < rest.end) {
			*s = rest;
			break;
		} else {
			q->n--;
			memmove(s, s + 1, (q->n - at) * sizeof(*s));
		}
	}
	return n;
}

void brick_quarantine_forget(struct brick_sessions *all, struct brick_span span)
{
	struct brick_session *s;

	LIST_FOREACH(s, &all->quarantined, quarantine_link)
	all->n_quarantined -= forget_span(&s->quarantine, span);
}

void brick_quarantine_end(struct brick_session *s)
{
	struct brick_session_quarantine *q = &s->quarantine;
	bool released = leave_holds(s->all, q->id);

	if (q->is_token)
		brick_store_release(s->all->storage->store, q->id);
	if (q->is_token || released)
		brick_cleaner_kick(s->all->storage);
	if (q->spans) {
		LIST_REMOVE(s, quarantine_link);
		for (uint32_t i = 0; i < q->n; i++)
			s->all->n_quarantined -= n_blocks_of(q->spans[i]);
	}
	free(q->spans);
	memset(q, 0, sizeof(*q));
}
