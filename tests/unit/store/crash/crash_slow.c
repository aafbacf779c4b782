// SPDX-License-Identifier: BSD-2-Clause
/*
 * The slow tier beside a recording medium.
 *
 * Its sectors are numbered contents: the medium's words can then stand for
 * them, one word a sector.
 */
#include "crash_slow.h"

#include <stdlib.h>
#include <string.h>

#include "brickd/store/format/super.h"
#include "brickd/store/slow/slow.h"

#define SECTOR	     CRASH_SECTOR_BYTES
#define HEADER	     ((uint64_t)CRASH_HEADER_SECTORS * SECTOR)
#define CONTENTS_MAX 8192U

_Static_assert(HEADER == sizeof(struct brick_fmt_slow) * BRICK_FMT_COPIES,
	       "the header is all that is before the slots");

/* What was ever in a sector; number 0 is zeros. */
struct contents {
	uint8_t bytes[CONTENTS_MAX][SECTOR];
	uint32_t n;
};

struct crash_slow {
	struct brick_slow slow;
	struct crash_medium *cm;
	struct contents *contents; /* one for all levels */
};

static struct crash_slow *slow_of(struct brick_slow *slow)
{
	return (struct crash_slow *)(void *)slow;
}

_Static_assert(offsetof(struct crash_slow, slow) == 0, "for slow_of()");

static uint64_t number_of(struct contents *c, const uint8_t *bytes)
{
	uint32_t i;

	/* What is written is mostly what was written last, or zeros. */
	if (!memcmp(c->bytes[0], bytes, SECTOR))
		return 0;
	for (i = c->n; i > 1; i--)
		if (!memcmp(c->bytes[i - 1], bytes, SECTOR))
			return i - 1;
	if (c->n == CONTENTS_MAX)
		abort(); /* a test that needs more must raise the bound */
	memcpy(c->bytes[c->n], bytes, SECTOR);
	return c->n++;
}

/* Where the i-th sector that exists is. */
static uint64_t sector_off(uint32_t i)
{
	if (i < CRASH_HEADER_SECTORS)
		return (uint64_t)i * SECTOR;
	i -= CRASH_HEADER_SECTORS;
	return brick_slow_data(i / CRASH_SAMPLES) +
	       (i % CRASH_SAMPLES ? KFB_BLOCK_BYTES - SECTOR : 0);
}

static uint32_t sector_of(uint64_t slot, unsigned int sample)
{
	return (uint32_t)(CRASH_HEADER_SECTORS +
			  brick_slot_number(slot) * CRASH_SAMPLES + sample);
}

/* The next sector at or behind *i that lies in a range. */
static bool next_in(const struct crash_medium *cm, uint64_t off, size_t len,
		    uint32_t *i)
{
	for (; *i < cm->n_sectors; ++*i)
		if (sector_off(*i) >= off && sector_off(*i) < off + len)
			return true;
	return false;
}

static int slow_read(struct brick_slow *slow, uint64_t off, void *to,
		     size_t len)
{
	struct crash_slow *cs = slow_of(slow);
	uint8_t *at = to;
	uint32_t i;

	if (off + len > slow->size)
		return -1;
	memset(to, 0, len);
	for (i = 0; next_in(cs->cm, off, len, &i); i++)
		memcpy(at + (sector_off(i) - off),
		       cs->contents->bytes[crash_medium_sector(cs->cm, i)],
		       SECTOR);
	return 0;
}

static int slow_write(struct brick_slow *slow, uint64_t off, const void *from,
		      size_t len)
{
	struct crash_slow *cs = slow_of(slow);
	const uint8_t *at = from;
	uint32_t i;

	if (off + len > slow->size)
		return -1;
	for (i = 0; next_in(cs->cm, off, len, &i); i++)
		crash_medium_set_sector(cs->cm, i,
					number_of(cs->contents,
						  at + (sector_off(i) - off)));
	return 0;
}

static int slow_zero(struct brick_slow *slow, uint64_t off, size_t len)
{
	struct crash_slow *cs = slow_of(slow);
	uint32_t i;

	if (off + len > slow->size)
		return -1;
	for (i = 0; next_in(cs->cm, off, len, &i); i++)
		crash_medium_set_sector(cs->cm, i, 0);
	return 0;
}

static int slow_sync(struct brick_slow *slow)
{
	crash_medium_sync(slow_of(slow)->cm);
	return 0;
}

static void slow_close(struct brick_slow *slow)
{
	(void)slow;
}

static const struct brick_slow_ops slow_ops = {
	.read = slow_read,
	.write = slow_write,
	.zero = slow_zero,
	.sync = slow_sync,
	.close = slow_close,
};

static char slow_path[] = "crash-slow";

void crash_slow_attach(struct crash_medium *cm)
{
	struct contents *contents = calloc(1, sizeof(*contents));

	if (!contents || !cm)
		abort();
	contents->n = 1;
	do {
		struct crash_slow *cs = calloc(1, sizeof(*cs));

		if (!cs)
			abort();
		cs->cm = cm;
		cs->contents = contents;
		cs->slow.ops = &slow_ops;
		cs->slow.path = slow_path;
		cs->slow.size = brick_slow_data(cm->n_slow);
		cs->slow.fresh_is_zero = true;
		cm->slow = &cs->slow;
		cm = cm->next;
	} while (cm);
}

void crash_slow_free(struct crash_medium *cm)
{
	if (!cm || !cm->slow)
		return;
	free(slow_of(cm->slow)->contents);
	for (; cm; cm = cm->next) {
		free(slow_of(cm->slow));
		cm->slow = NULL;
	}
}

void crash_slow_resize(struct crash_medium *cm, uint64_t n_slow)
{
	for (; cm; cm = cm->next)
		cm->slow->size = brick_slow_data(n_slow);
}

uint64_t crash_slow_sample(const struct crash_medium *cm, uint64_t slot,
			   unsigned int sample)
{
	const uint8_t *bytes =
		slow_of(cm->slow)->contents->bytes[crash_medium_sector(
			cm, sector_of(slot, sample))];
	uint64_t value;

	memcpy(&value, bytes + (sample ? SECTOR - sizeof(value) : 0),
	       sizeof(value));
	return value;
}
