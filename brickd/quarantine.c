// SPDX-License-Identifier: BSD-2-Clause
/* Quarantine: which sessions' late operations may reach which blocks. */
#include "brickd/quarantine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/server.h"
#include "brickd/session.h"

/* Index of the first span that ends behind a block, or touches it. */
static uint32_t find(const struct brick_quarantine *q, uint64_t block)
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

static void widen(struct brick_span *to, struct brick_span by)
{
	if (by.first < to->first)
		to->first = by.first;
	if (by.end > to->end)
		to->end = by.end;
}

int brick_quarantine_add(struct brick_session *s, struct brick_span span)
{
	struct brick_quarantine *q = &s->quarantine;
	uint32_t from, to;

	if (!q->spans)
		q->spans = calloc(BRICK_QUARANTINE_MAX, sizeof(*q->spans));
	if (!q->spans)
		return -ENOMEM;
	from = find(q, span.first);
	for (to = from; to < q->n && q->spans[to].first <= span.end; to++)
		widen(&span, q->spans[to]);
	if (from == to && q->n == BRICK_QUARANTINE_MAX) {
		/* Too much is safe; it only makes others wait for longer. */
		from = from ? from - 1 : 0;
		to = from + 1;
		widen(&span, q->spans[from]);
	}
	memmove(&q->spans[from + 1], &q->spans[to],
		(q->n - to) * sizeof(*q->spans));
	q->spans[from] = span;
	q->n = q->n - (to - from) + 1;
	return 0;
}

static bool holds(const struct brick_session *s, struct brick_span span)
{
	const struct brick_quarantine *q = &s->quarantine;
	uint32_t at = find(q, span.first + 1);

	return at < q->n && q->spans[at].first < span.end;
}

bool brick_quarantine_blocks(const struct brick_server *server,
			     struct brick_span span,
			     const struct brick_session *but)
{
	const struct brick_session *s;

	TAILQ_FOREACH(s, &server->sessions, link)
	if (s != but && holds(s, span))
		return true;
	return false;
}

int brick_quarantine_token(struct brick_server *server, struct brick_span span,
			   uint64_t *token)
{
	struct brick_session *s, *found = NULL;

	TAILQ_FOREACH(s, &server->sessions, link)
	{
		if (!holds(s, span))
			continue;
		if (found)
			return -EAGAIN;
		found = s;
	}
	if (found)
		found->quarantine.token = found->id;
	*token = found ? found->id : 0;
	return 0;
}

static void forget(struct brick_quarantine *q, struct brick_span span)
{
	uint32_t at = find(q, span.first + 1);

	while (at < q->n && q->spans[at].first < span.end) {
		struct brick_span *s = &q->spans[at];
		struct brick_span rest = { span.end, s->end };

		if (s->first < span.first && rest.first < rest.end) {
			if (q->n == BRICK_QUARANTINE_MAX)
				return; /* no place for a split: keep it */
			memmove(s + 1, s, (q->n - at) * sizeof(*s));
			q->n++;
			s[0].end = span.first;
			s[1] = rest;
			return;
		}
		if (s->first < span.first) {
			s->end = span.first;
			at++;
		} else if (rest.first < rest.end) {
			*s = rest;
			return;
		} else {
			q->n--;
			memmove(s, s + 1, (q->n - at) * sizeof(*s));
		}
	}
}

void brick_quarantine_forget(struct brick_server *server,
			     struct brick_span span)
{
	struct brick_session *s;

	TAILQ_FOREACH(s, &server->sessions, link)
	forget(&s->quarantine, span);
}

void brick_quarantine_end(struct brick_session *s)
{
	struct brick_quarantine *q = &s->quarantine;

	if (q->token) {
		brick_store_release(s->server->store, q->token);
		brick_server_kick_cleaner(s->server);
	}
	free(q->spans);
	memset(q, 0, sizeof(*q));
}
