// SPDX-License-Identifier: BSD-2-Clause
/* Pins: ranges of blocks that are not demoted; sorted, disjoint, apart. */
#include <errno.h>
#include <string.h>

#include "brickd/tier/tier_pins.h"

/* Index of the first pin that ends behind a block, or touches it. */
static uint32_t find_pin(const struct brick_tier *tier, uint64_t block)
{
	uint32_t low = 0, high = tier->n_pins;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (tier->pins[mid].end < block)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void replace_pins(struct brick_tier *tier, uint32_t from, uint32_t to,
			 const struct brick_span *by, uint32_t n)
{
	memmove(&tier->pins[from + n], &tier->pins[to],
		(tier->n_pins - to) * sizeof(*tier->pins));
	memcpy(&tier->pins[from], by, n * sizeof(*by));
	tier->n_pins = tier->n_pins - (to - from) + n;
}

int brick_tier_pin(struct brick_tier *tier, struct brick_span span)
{
	uint32_t from = find_pin(tier, span.first), to;

	for (to = from; to < tier->n_pins && tier->pins[to].first <= span.end;
	     to++) {
		if (tier->pins[to].first < span.first)
			span.first = tier->pins[to].first;
		if (tier->pins[to].end > span.end)
			span.end = tier->pins[to].end;
	}
	if (from == to && tier->n_pins == BRICK_TIER_PINS_MAX)
		return -ENOSPC;
	replace_pins(tier, from, to, &span, 1);
	return 0;
}

int brick_tier_unpin(struct brick_tier *tier, struct brick_span span)
{
	uint32_t from = find_pin(tier, span.first + 1), to;
	struct brick_span rest[2] = { { 0 } };
	uint32_t n = 0;

	for (to = from; to < tier->n_pins && tier->pins[to].first < span.end;
	     to++) {
		struct brick_span pin = tier->pins[to];

		if (pin.first < span.first)
			rest[n++] =
				(struct brick_span){ pin.first, span.first };
		if (pin.end > span.end)
			rest[n++] = (struct brick_span){ span.end, pin.end };
	}
	if (n > to - from && tier->n_pins == BRICK_TIER_PINS_MAX)
		return -ENOSPC;
	replace_pins(tier, from, to, rest, n);
	return 0;
}

bool brick_tier_is_pinned(const struct brick_tier *tier, uint64_t block)
{
	uint32_t at = find_pin(tier, block + 1);

	return at < tier->n_pins && tier->pins[at].first <= block;
}

bool brick_tier_pins_cover(const struct brick_tier *tier,
			   struct brick_span span)
{
	uint32_t at = find_pin(tier, span.first + 1);

	return at < tier->n_pins && tier->pins[at].first <= span.first &&
	       tier->pins[at].end >= span.end;
}

uint64_t brick_tier_pinned_blocks(const struct brick_tier *tier)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < tier->n_pins; i++)
		n += tier->pins[i].end - tier->pins[i].first;
	return n;
}
