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

static struct dentry *fault_debugfs_dir;
static int fault_last_cut;

static int fault_counter_list_show(struct seq_file *m, void *v)
{
	int i;

	for (i = 0; i < FAULT_NR_COUNTERS; i++)
		seq_printf(m, "%s %ld\n", fault_counter_names[i],
			   atomic_long_read(&fault_counters[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(fault_counter_list);

static int fault_loss_list_show(struct seq_file *m, void *v)
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
DEFINE_SHOW_ATTRIBUTE(fault_loss_list);

static int fault_seed_get(void *data, u64 *value)
{
	*value = fault_seed;
	return 0;
}

static int fault_seed_set(void *data, u64 value)
{
	fault_reseed(value);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(fault_seed_fops, fault_seed_get, fault_seed_set,
			 "%llu\n");

static int fault_cut_get(void *data, u64 *value)
{
	*value = max(fault_last_cut, 0);
	return 0;
}

static int fault_cut_set(void *data, u64 value)
{
	fault_last_cut = kfabric_fault_cut();
	return min(fault_last_cut, 0);
}
DEFINE_DEBUGFS_ATTRIBUTE(fault_cut_fops, fault_cut_get, fault_cut_set,
			 "%llu\n");

static int fault_reset_set(void *data, u64 value)
{
	kfabric_fault_reset();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(fault_reset_fops, NULL, fault_reset_set, "%llu\n");

void fault_debugfs_setup(void)
{
	int i;

	fault_debugfs_dir = debugfs_create_dir(FAULT_NAME, kfi_debugfs_dir());
	for (i = 0; i < FAULT_NR_KNOBS; i++)
		debugfs_create_u32(fault_knob_names[i], 0600, fault_debugfs_dir,
				   &fault_knobs[i]);
	debugfs_create_file("counters", 0400, fault_debugfs_dir, NULL,
			    &fault_counter_list_fops);
	debugfs_create_file("lost", 0400, fault_debugfs_dir, NULL,
			    &fault_loss_list_fops);
	debugfs_create_file("seed", 0600, fault_debugfs_dir, NULL,
			    &fault_seed_fops);
	debugfs_create_file("power_cut", 0600, fault_debugfs_dir, NULL,
			    &fault_cut_fops);
	debugfs_create_file("reset", 0200, fault_debugfs_dir, NULL,
			    &fault_reset_fops);
}

void fault_debugfs_teardown(void)
{
	debugfs_remove_recursive(fault_debugfs_dir);
}
