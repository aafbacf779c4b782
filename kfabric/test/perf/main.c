// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_latency: runs both ways in turn and compares; see latency.h.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "latency.h"

#define WAYS	    2
#define TURN	    50 /* rounds before the other way has its turn */
#define WARM_ROUNDS 100
#define PERMILLE    1000

static char *lat_node = "127.0.0.1";
module_param_named(node, lat_node, charp, 0444);
MODULE_PARM_DESC(node, "address of the peer");
static char *lat_service[WAYS] = { "7471", "7472" };
module_param_array_named(service, lat_service, charp, NULL, 0444);
MODULE_PARM_DESC(service, "ports: a peer serves one connection at a time");
static unsigned int lat_rounds = 2000;
module_param_named(rounds, lat_rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "of each way");
static unsigned int lat_limit = 1100;
module_param_named(limit, lat_limit, uint, 0444);
MODULE_PARM_DESC(limit, "kfabric may take that many thousandths of verbs");

static const struct lat_way *const lat_ways[WAYS] = { &lat_raw, &lat_fabric };
static const char *const lat_shapes[LAT_SHAPES] = {
	[LAT_CHAINED] = "4 KiB write and 8 B read behind it",
	[LAT_WRITE] = "4 KiB write",
	[LAT_STEPS] = "4 KiB write, then 8 B read",
};

void lat_fill_data(struct iop_ulp_data *data)
{
	size_t i;

	memset(data, 0, sizeof(*data));
	memcpy(data->magic, IOP_ULP_MAGIC, IOP_MAGIC_LEN);
	data->mode = IOP_MODE_SERVE;
	data->len = sizeof(*data);
	for (i = 0; i < sizeof(data->pattern); i++)
		data->pattern[i] = iop_byte(1, i);
}

static int lat_by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static int lat_warm_up(const struct lat_way *way, enum lat_shape shape)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < WARM_ROUNDS && !ret; i++)
		ret = way->round(shape, i);
	return ret;
}

static int lat_take_turn(const struct lat_way *way, enum lat_shape shape,
			 u64 *ns, u32 from, u32 to)
{
	ktime_t begin;
	int ret;
	u32 i;

	for (i = from; i < to; i++) {
		begin = ktime_get();
		ret = way->round(shape, i);
		ns[i] = ktime_to_ns(ktime_sub(ktime_get(), begin));
		if (ret)
			return ret;
	}
	return 0;
}

static int lat_measure_shape(enum lat_shape shape, u64 *ns[WAYS])
{
	u32 i, w;
	int ret = 0;

	for (w = 0; w < WAYS && !ret; w++)
		ret = lat_warm_up(lat_ways[w], shape);
	for (i = 0; i < lat_rounds && !ret; i += TURN)
		for (w = 0; w < WAYS && !ret; w++)
			ret = lat_take_turn(lat_ways[w], shape, ns[w], i,
					    min(i + TURN, lat_rounds));
	return ret;
}

/* Only the durable write is held to the limit: the others are for tables. */
static void lat_report_shape(enum lat_shape shape, u64 *ns[WAYS])
{
	u64 median[WAYS], permille;
	u32 w;

	for (w = 0; w < WAYS; w++) {
		sort(ns[w], lat_rounds, sizeof(u64), lat_by_value, NULL);
		median[w] = ns[w][lat_rounds / 2];
		pr_info("# %s: %s, ns: min %llu median %llu max %llu\n",
			lat_ways[w]->name, lat_shapes[shape], ns[w][0],
			median[w], ns[w][lat_rounds - 1]);
	}
	if (shape != LAT_CHAINED)
		return;
	permille = div64_u64(median[1] * PERMILLE, max_t(u64, median[0], 1));
	pr_info("%sok 1 - kfabric takes %llu thousandths of verbs, limit %u\n",
		permille <= lat_limit ? "" : "not ", permille, lat_limit);
}

static int lat_measure_all(u64 *ns[WAYS])
{
	enum lat_shape shape;
	int ret = 0;

	for (shape = 0; shape < LAT_SHAPES && !ret; shape++) {
		ret = lat_measure_shape(shape, ns);
		if (!ret)
			lat_report_shape(shape, ns);
	}
	return ret;
}

static int lat_run_all(u64 *ns[WAYS], void *data)
{
	int ret = 0;
	u32 w;

	for (w = 0; w < WAYS && !ret; w++)
		ret = lat_ways[w]->open(lat_node, lat_service[w], data);
	ret = ret ?: lat_measure_all(ns);
	while (w--)
		lat_ways[w]->close();
	pr_info("%sok 2 - the comparison runs (%d)\n", ret ? "not " : "", ret);
	pr_info("1..2\n");
	return 0;
}

static int __init lat_init(void)
{
	void *data = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, 1);
	u64 *ns[WAYS];
	int ret = -ENOMEM;

	lat_rounds = clamp(lat_rounds, 1u, 1u << 16);
	ns[0] = kvcalloc(lat_rounds, sizeof(u64), GFP_KERNEL);
	ns[1] = kvcalloc(lat_rounds, sizeof(u64), GFP_KERNEL);
	if (data && ns[0] && ns[1])
		ret = lat_run_all(ns, data);
	kvfree(ns[0]);
	kvfree(ns[1]);
	free_pages((unsigned long)data, 1);
	return ret;
}

static void __exit lat_exit(void)
{
}

module_init(lat_init);
module_exit(lat_exit);
MODULE_SOFTDEP("pre: kfabric_verbs");
MODULE_DESCRIPTION("kfabric test: latency beside plain verbs");
MODULE_LICENSE("Dual BSD/GPL");
