// SPDX-License-Identifier: BSD-2-Clause
/* Pins: ranges of blocks that are not demoted; sorted, disjoint, apart. */
#include <errno.h>
#include <string.h>

#include "brickd/tier/tier.h"

/* Index of the first pin that ends behind a block, or touches it. */
static uint32_t find(const struct brick_tier *t, uint64_t block)
{
	uint32_t low = 0, high = t->n_pins;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (t->pins[mid].end < block)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void replace(struct brick_tier *t, uint32_t from, uint32_t to,
		    const struct brick_span *by, uint32_t n)
{
	memmove(&t->pins[from + n], &t->pins[to],
		(t->n_pins - to) * sizeof(*t->pins));
	memcpy(&t->pins[from], by, n * sizeof(*by));
	t->n_pins = t->n_pins - (to - from) + n;
}

int brick_tier_pin(struct brick_tier *t, struct brick_span span)
{
	uint32_t from = find(t, span.first), to;

	for (to = from; to < t->n_pins && t->pins[to].first <= span.end; to++) {
		if (t->pins[to].first < span.first)
			span.first = t->pins[to].first;
		if (t->pins[to].end > span.end)
			span.end = t->pins[to].end;
	}
	if (from == to && t->n_pins == BRICK_TIER_PINS_MAX)
		return -ENOSPC;
	replace(t, from, to, &span, 1);
	return 0;
}

int brick_tier_unpin(struct brick_tier *t, struct brick_span span)
{
	uint32_t from = find(t, span.first + 1), to;
	struct brick_span rest[2] = { { 0 } };
	uint32_t n = 0;

	for (to = from; to < t->n_pins && t->pins[to].first < span.end; to++) {
		struct brick_span pin = t->pins[to];

		if (pin.first < span.first)
			rest[n++] =
				(struct brick_span){ pin.first, span.first };
		if (pin.end > span.end)
			rest[n++] = (struct brick_span){ span.end, pin.end };
	}
	if (n > to - from && t->n_pins == BRICK_TIER_PINS_MAX)
		return -ENOSPC;
	replace(t, from, to, rest, n);
	return 0;
}

bool brick_tier_is_pinned(const struct brick_tier *t, uint64_t block)
{
	uint32_t at = find(t, block + 1);

	return at < t->n_pins && t->pins[at].first <= block;
}

bool brick_tier_pins_cover(const struct brick_tier *t, struct brick_span span)
{
	uint32_t at = find(t, span.first + 1);

	return at < t->n_pins && t->pins[at].first <= span.first &&
	       t->pins[at].end >= span.end;
}

uint64_t brick_tier_pinned_blocks(const struct brick_tier *t)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < t->n_pins; i++)
		n += t->pins[i].end - t->pins[i].first;
	return n;
}
