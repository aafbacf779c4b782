// SPDX-License-Identifier: BSD-2-Clause
#include "flush_rig.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/base/counters.h"

#define TIMEOUT_MS 30000

static struct brick_counters counters;
static struct brick_media_ops ops;

static void flush_nothing(struct brick_media *m, uint64_t off, size_t len)
{
	(void)m;
	(void)off;
	(void)len;
}

static int drain_nothing(struct brick_media *m)
{
	(void)m;
	return 0;
}

int flush_rig_open(struct brick_storage *storage, const char *medium,
		   uint64_t n_blocks,
		   void (*flush)(struct brick_media *media, uint64_t offset,
				 size_t len),
		   int (*drain)(struct brick_media *media))
{
	struct brick_store_op alloc = {
		.kind = BRICK_STORE_ALLOC,
		.n_blocks = n_blocks,
	};
	struct brick_store_format format = { .uuid = { 1 } };
	struct brick_store_open o = { .boot_id = { 1 }, .instance_id = 1 };
	char err[256];

	memset(&counters, 0, sizeof(counters));
	memset(storage, 0, sizeof(*storage));
	storage->counters = &counters;
	if (brick_media_open(medium, NULL, &storage->media, err, sizeof(err)) ||
	    brick_store_format(storage->media, &format, err, sizeof(err)) ||
	    brick_store_open(storage->media, &o, &storage->store, err,
			     sizeof(err)))
		return -1;
	brick_store_commit(storage->store, &alloc);
	ops = *storage->media->ops;
	ops.flush = flush ? flush : flush_nothing;
	ops.drain = drain ? drain : drain_nothing;
	storage->media->ops = &ops;
	storage->media->granularity = BRICK_GRANULARITY_CACHE_LINE;
	return alloc.error;
}

void flush_rig_close(struct brick_storage *storage)
{
	brick_store_close(storage->store, true);
	brick_media_close(storage->media);
}

void flush_rig_wait(struct brick_mailbox *box, const unsigned int *n_done,
		    unsigned int n)
{
	struct pollfd p = { .fd = box->source.fd, .events = POLLIN };

	while (*n_done < n) {
		assert_int_equal(poll(&p, 1, TIMEOUT_MS), 1);
		box->source.ready(&box->source);
	}
	assert_int_equal(*n_done, n);
}
