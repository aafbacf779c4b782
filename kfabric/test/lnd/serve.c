// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a node does for the transactions of the other one.
 *
 * Context: process.
 */
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "lt.h"

#define LT_GOLDEN 0x9e3779b97f4a7c15ULL

/* All bytes depend on number and place. */
void lt_pattern_fill(u8 *bytes, size_t len, u64 number)
{
	u64 *words = (u64 *)bytes;
	size_t i;

	for (i = 0; i < len / sizeof(u64); i++)
		words[i] = (number + 1) * LT_GOLDEN + i;
}

bool lt_pattern_is(const u8 *bytes, size_t len, u64 number)
{
	const u64 *words = (const u64 *)bytes;
	size_t i;

	for (i = 0; i < len / sizeof(u64); i++)
		if (words[i] != (number + 1) * LT_GOLDEN + i)
			return false;
	return true;
}

static struct lt_sink *lt_sink_take(struct lt_node *n)
{
	struct lt_sink *sink = NULL;
	unsigned int i;

	spin_lock(&n->lock);
	for (i = 0; !sink && i < LT_SINKS; i++)
		if (!n->sinks[i].is_used)
			sink = &n->sinks[i];
	if (sink)
		sink->is_used = true;
	spin_unlock(&n->lock);
	return sink;
}

static int lt_match_data(struct lt_node *n, struct klnd_incoming *in)
{
	struct lt_sink *sink;

	if (in->word >= LT_NUMBERS)
		return -EINVAL;
	sink = lt_sink_take(n);
	if (!sink)
		return -EBUSY;
	spin_lock(&n->lock);
	n->report->twice += test_and_set_bit(in->word, n->report->begun);
	spin_unlock(&n->lock);
	if (in->is_get)
		lt_pattern_fill(sink->bytes, in->bytes, in->word);
	else
		memset(sink->bytes, 0, in->bytes);
	in->buf = fi_buf_linear(sink->bytes, in->bytes);
	in->cookie = sink;
	return 0;
}

static int lt_match(void *context, struct klnd_incoming *in)
{
	struct lt_node *n = context;
	u8 *report = (u8 *)n->report;

	if (in->match == LT_DATA)
		return lt_match_data(n, in);
	if (in->match == LT_SHORT)
		return -EMSGSIZE;
	/* The word is where to begin. */
	if (in->match != LT_REPORT || !in->is_get ||
	    in->word > sizeof(*n->report) ||
	    in->bytes > sizeof(*n->report) - in->word)
		return -ENOENT;
	in->buf = fi_buf_linear(report + in->word, in->bytes);
	in->cookie = NULL;
	return 0;
}

static void lt_event(void *context, const struct klnd_incoming *in, int status,
		     u32 bytes)
{
	struct lt_node *n = context;
	struct lt_sink *sink = in->cookie;
	bool is_bad;

	if (!sink)
		return;
	is_bad = !status && !in->is_get &&
		 !lt_pattern_is(sink->bytes, bytes, in->word);
	spin_lock(&n->lock);
	if (!status) {
		n->report->twice += test_and_set_bit(in->word, n->report->done);
		n->report->puts += !in->is_get;
		n->report->gets += in->is_get;
	}
	n->report->bad += is_bad;
	sink->is_used = false;
	spin_unlock(&n->lock);
}

const struct klnd_ops lt_ops = { .match = lt_match, .event = lt_event };

int lt_serve_alloc(struct lt_node *n)
{
	unsigned int i;

	n->report = vzalloc(sizeof(*n->report));
	if (!n->report)
		return -ENOMEM;
	for (i = 0; i < LT_SINKS; i++) {
		n->sinks[i].bytes = vmalloc(LT_BYTES_MAX);
		if (!n->sinks[i].bytes)
			return -ENOMEM;
	}
	return 0;
}

void lt_serve_free(struct lt_node *n)
{
	unsigned int i;

	for (i = 0; i < LT_SINKS; i++)
		vfree(n->sinks[i].bytes);
	vfree(n->report);
}
