// SPDX-License-Identifier: BSD-2-Clause
/*
 * Radix sort of block numbers, 11 bits a pass: a sorted index fills about
 * four times faster than one in random order.
 */
#include <stdbool.h>
#include <string.h>

#include "brickd/store/dram/sort.h"
#include "kfb_wire.h"

#define DIGIT_BITS 11U
#define DIGITS	   (1U << DIGIT_BITS)
#define KEY_BITS   (64 - KFB_BLOCK_SHIFT)
#define FEW	   48U /* sorted before the counters would be cleared */

static uint32_t digit_of(const struct brick_id *id, unsigned int shift)
{
	return brick_id_key(id) >> shift & (DIGITS - 1);
}

/* One stable pass; false, and nothing moved, if all have the same digit. */
static bool sort_pass(const struct brick_id *from, struct brick_id *to,
		      uint64_t n, unsigned int shift)
{
	uint64_t place[DIGITS] = { 0 };
	uint64_t i, sum = 0;
	uint32_t d;

	for (i = 0; i < n; i++)
		place[digit_of(&from[i], shift)]++;
	if (place[digit_of(&from[0], shift)] == n)
		return false;
	for (d = 0; d < DIGITS; d++) {
		uint64_t count = place[d];

		place[d] = sum;
		sum += count;
	}
	for (i = 0; i < n; i++)
		to[place[digit_of(&from[i], shift)]++] = from[i];
	return true;
}

static void sort_few(struct brick_id *ids, uint64_t n)
{
	struct brick_id id;
	uint64_t i, to;

	for (i = 1; i < n; i++) {
		id = ids[i];
		for (to = i;
		     to && brick_id_key(&ids[to - 1]) > brick_id_key(&id); to--)
			ids[to] = ids[to - 1];
		ids[to] = id;
	}
}

void brick_id_sort(struct brick_id *ids, struct brick_id *tmp, uint64_t n)
{
	struct brick_id *from = ids, *to = tmp, *swap;
	unsigned int shift;

	if (n <= FEW) {
		sort_few(ids, n);
		return;
	}
	for (shift = 0; shift < KEY_BITS; shift += DIGIT_BITS) {
		if (!sort_pass(from, to, n, shift))
			continue;
		swap = from;
		from = to;
		to = swap;
	}
	if (from != ids)
		memcpy(ids, from, n * sizeof(*ids));
}
