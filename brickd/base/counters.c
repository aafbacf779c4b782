// SPDX-License-Identifier: BSD-2-Clause
/* Counting, in whatever thread something happens. */
#include "brickd/base/counters.h"

#include "brickd/base/clock.h"

/* ---- bounds: spelled as OpenMetrics wants it ---- */

#define US 1000ULL
#define MS (1000 * US)
#define S  (1000 * MS)

const struct brick_bounds brick_bounds_ns = {
	.n = 16,
	.list = {
		{ 10 * US, "1e-05" }, { 20 * US, "2e-05" },
		{ 50 * US, "5e-05" }, { 100 * US, "0.0001" },
		{ 200 * US, "0.0002" }, { 500 * US, "0.0005" },
		{ 1 * MS, "0.001" }, { 2 * MS, "0.002" },
		{ 5 * MS, "0.005" }, { 10 * MS, "0.01" },
		{ 20 * MS, "0.02" }, { 50 * MS, "0.05" },
		{ 100 * MS, "0.1" }, { 200 * MS, "0.2" },
		{ 500 * MS, "0.5" }, { 1 * S, "1.0" },
	},
};

const struct brick_bounds brick_bounds_size = {
	.n = 9,
	.list = {
		{ 1, "1.0" }, { 2, "2.0" }, { 4, "4.0" }, { 8, "8.0" },
		{ 16, "16.0" }, { 32, "32.0" }, { 64, "64.0" },
		{ 128, "128.0" }, { 256, "256.0" },
	},
};

/* ---- counting ---- */

static void observe_value(struct brick_histogram *h,
			  const struct brick_bounds *b, uint64_t value)
{
	unsigned int i = 0;

	while (i < b->n && value > b->list[i].value)
		i++;
	brick_count(&h->buckets[i]);
	brick_count_add(&h->sum, value);
}

void brick_count_ns(struct brick_histogram *h, uint64_t ns)
{
	observe_value(h, &brick_bounds_ns, ns);
}

void brick_count_size(struct brick_histogram *h, uint64_t size)
{
	observe_value(h, &brick_bounds_size, size);
}

void brick_count_op(struct brick_counters *c, uint16_t op,
		    enum kfb_status status, uint64_t begun_ns)
{
	if (op > KFB_OP_LAST)
		op = 0;
	if (status > KFB_ST_LAST)
		status = KFB_ST_IO;
	brick_count(&c->ops[op][status]);
	brick_count_ns(&c->op_ns[op], brick_now_ns() - begun_ns);
}

void brick_count_client_op(struct brick_client_counters *c, uint16_t op,
			   enum kfb_status status)
{
	brick_count(&c->ops[op <= KFB_OP_LAST ? op : 0]);
	if (status != KFB_ST_OK)
		brick_count(&c->failed);
}

void brick_count_refused(struct brick_counters *c, enum kfb_status status)
{
	if (status <= KFB_ST_LAST)
		brick_count(&c->refused[status]);
}
