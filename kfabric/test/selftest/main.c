// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: runs the suite on the providers that are named, or on all that
 * are there, when the module is loaded.
 *
 * Results are KTAP on the console and in debugfs: kfabric/selftest/results,
 * and "passed failed" in kfabric/selftest/score. The module loads whatever
 * the results are.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "st.h"

#define MAX_PROVIDERS 8

static char *provider = "";
module_param(provider, charp, 0444);
MODULE_PARM_DESC(provider, "providers to test, comma between; empty: all");
static char *node = "127.0.0.1";
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "address of this machine that providers can connect to");
static char *service = "0";
module_param(service, charp, 0444);
MODULE_PARM_DESC(service, "port to listen on; 0: any");
unsigned int st_cycles = 1000;
module_param_named(cycles, st_cycles, uint, 0444);
MODULE_PARM_DESC(cycles, "register and connect this often");
bool st_with_load;
module_param_named(load, st_with_load, bool, 0444);
MODULE_PARM_DESC(
	load, "keep other connections, regions and providers busy meanwhile");
static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "run only the group of tests of this name");

static struct dentry *dir;
static unsigned int total_passed, total_failed;

static const struct {
	const char *name;
	void (*run)(struct st *st);
} groups[] = {
	{ "info", t_info },	  { "object", t_object },
	{ "connect", t_connect }, { "msg", t_msg },
	{ "rma", t_rma },	  { "read", t_read },
	{ "access", t_access },	  { "queue", t_queue },
	{ "close", t_close },	  { "context", t_context },
	{ "cycle", t_cycle },
};

static bool wanted(const char *name)
{
	return !*only || !strcmp(only, name);
}

static void end_subtest(struct st *st, unsigned int number)
{
	st_tap_line("    1..%u", st->passed + st->failed);
	st_tap_line("%sok %u - %s # %u passed, %u failed",
		    st->failed ? "not " : "", number, st->provider, st->passed,
		    st->failed);
	total_passed += st->passed;
	total_failed += st->failed;
}

static void run_provider(const char *name, unsigned int number)
{
	struct st *st = kzalloc(sizeof(*st), GFP_KERNEL);
	size_t i;

	if (!st)
		return;
	st->provider = name;
	st->node = node;
	st->service = service;
	st_tap_line("# Subtest: %s", name);
	if (CHECK_EQ(st, st_open(st), 0, "the provider opens"))
		for (i = 0; i < ARRAY_SIZE(groups); i++)
			if (wanted(groups[i].name)) {
				st_tap_line("    # %s", groups[i].name);
				groups[i].run(st);
			}
	st_close(st);
	end_subtest(st, number);
	kfree(st);
}

/* What needs no provider but the test's own. */
static void run_core(unsigned int number)
{
	struct st *st = kzalloc(sizeof(*st), GFP_KERNEL);

	if (!st)
		return;
	st->provider = "core";
	st_tap_line("# Subtest: core");
	t_core(st);
	t_dummy(st);
	end_subtest(st, number);
	kfree(st);
}

/* The names of all providers that are there. */
static unsigned int find_all(char **names)
{
	struct fi_info *list, *info;
	unsigned int i, n = 0;

	if (fi_getinfo(FI_VERSION(1, 0), NULL, NULL, FI_PROV_ATTR_ONLY, NULL,
		       &list))
		return 0;
	for (info = list; info && n < MAX_PROVIDERS; info = info->next) {
		const char *name = info->fabric_attr->prov_name;

		for (i = 0; i < n; i++)
			if (!strcmp(names[i], name))
				break;
		if (i == n)
			names[n++] = kstrdup(name, GFP_KERNEL);
	}
	fi_freeinfo(list);
	return n;
}

static unsigned int split(char **names)
{
	char *copy = kstrdup(provider, GFP_KERNEL), *rest = copy, *name;
	unsigned int n = 0;

	while ((name = strsep(&rest, ",")) && n < MAX_PROVIDERS)
		if (*name)
			names[n++] = kstrdup(name, GFP_KERNEL);
	kfree(copy);
	return n;
}

static void run_all(void)
{
	char *names[MAX_PROVIDERS] = {};
	unsigned int i, n, done = 0;

	n = *provider ? split(names) : find_all(names);
	st_tap_line("KTAP version 1");
	st_tap_line("1..%u", n + wanted("core"));
	if (wanted("core"))
		run_core(++done);
	for (i = 0; i < n; i++) {
		if (names[i])
			run_provider(names[i], ++done);
		kfree(names[i]);
	}
	st_tap_line("# Totals: pass:%u fail:%u", total_passed, total_failed);
}

static int results_show(struct seq_file *m, void *v)
{
	st_tap_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static int score_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%u %u\n", total_passed, total_failed);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(score);

static int __init selftest_init(void)
{
	int ret = st_tap_setup();

	if (ret)
		return ret;
	run_all();
	dir = debugfs_create_dir("selftest", kfi_debugfs_dir());
	debugfs_create_file("results", 0444, dir, NULL, &results_fops);
	debugfs_create_file("score", 0444, dir, NULL, &score_fops);
	return 0;
}

static void __exit selftest_exit(void)
{
	debugfs_remove_recursive(dir);
	st_tap_teardown();
}

module_init(selftest_init);
module_exit(selftest_exit);
MODULE_DESCRIPTION("kfabric: what every provider must do");
MODULE_LICENSE("Dual BSD/GPL");
