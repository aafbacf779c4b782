// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fault provider: debugfs.
 *
 * kfabric/fault/KNOB       one file per knob, see fault.h; also module
 *                          parameters
 * kfabric/fault/seed       of the generator; writing starts it again
 * kfabric/fault/counters   name value
 * kfabric/fault/power_cut  writing anything fails the power; reading tells
 *                          how many connections the last one ended
 * kfabric/fault/lost       "all N shown M", then a line for each lost line:
 *                          endpoint key address, bytes as a mask
 * kfabric/fault/reset      writing anything: knobs 0, counters and report
 *                          empty
 */
#include <linux/debugfs.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>

#include "fault.h"

static struct dentry *dir;
static int last_cut;

static int counters_show(struct seq_file *m, void *v)
{
	int i;

	for (i = 0; i < FAULT_NR_COUNTERS; i++)
		seq_printf(m, "%s %ld\n", fault_counter_names[i],
			   atomic_long_read(&fault_counters[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int lost_show(struct seq_file *m, void *v)
{
	struct fault_loss loss;
	size_t i, all = fault_report_get(SIZE_MAX, &loss);
	size_t shown = min_t(size_t, all, FAULT_REPORT);

	seq_printf(m, "all %zu shown %zu\n", all, shown);
	for (i = 0; i < shown; i++) {
		fault_report_get(i, &loss);
		seq_printf(m, "ep %u key %#llx addr %#llx bytes %016llx\n",
			   loss.ep, loss.key, loss.addr, loss.lost);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(lost);

static int seed_get(void *data, u64 *value)
{
	*value = fault_seed;
	return 0;
}

static int seed_set(void *data, u64 value)
{
	fault_reseed(value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(seed_fops, seed_get, seed_set, "%llu\n");

static int cut_get(void *data, u64 *value)
{
	*value = max(last_cut, 0);
	return 0;
}

static int cut_set(void *data, u64 value)
{
	last_cut = kfabric_fault_cut();
	return min(last_cut, 0);
}
DEFINE_DEBUGFS_ATTRIBUTE(cut_fops, cut_get, cut_set, "%llu\n");

static int reset_set(void *data, u64 value)
{
	kfabric_fault_reset();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(reset_fops, NULL, reset_set, "%llu\n");

void fault_debugfs_setup(void)
{
	int i;

	dir = debugfs_create_dir(FAULT_NAME, kfi_debugfs_dir());
	for (i = 0; i < FAULT_NR_KNOBS; i++)
		debugfs_create_u32(fault_knob_names[i], 0600, dir,
				   &fault_knobs[i]);
	debugfs_create_file("counters", 0400, dir, NULL, &counters_fops);
	debugfs_create_file("lost", 0400, dir, NULL, &lost_fops);
	debugfs_create_file("seed", 0600, dir, NULL, &seed_fops);
	debugfs_create_file("power_cut", 0600, dir, NULL, &cut_fops);
	debugfs_create_file("reset", 0200, dir, NULL, &reset_fops);
}

void fault_debugfs_teardown(void)
{
	debugfs_remove_recursive(dir);
}
