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

static char *st_provider = "";
module_param_named(provider, st_provider, charp, 0444);
MODULE_PARM_DESC(provider, "providers to test, comma between; empty: all");
static char *st_node = "127.0.0.1";
module_param_named(node, st_node, charp, 0444);
MODULE_PARM_DESC(node, "address of this machine that providers can connect to");
static char *st_service = "0";
module_param_named(service, st_service, charp, 0444);
MODULE_PARM_DESC(service, "port to listen on; 0: any");
unsigned int st_cycles = 1000;
module_param_named(cycles, st_cycles, uint, 0444);
MODULE_PARM_DESC(cycles, "register and connect this often");
unsigned int st_peers = 100;
module_param_named(peers, st_peers, uint, 0444);
MODULE_PARM_DESC(peers, "so many talk to one unconnected endpoint");
bool st_with_load;
module_param_named(load, st_with_load, bool, 0444);
MODULE_PARM_DESC(
	load, "keep other connections, regions and providers busy meanwhile");
static char *st_beside = "";
module_param_named(beside, st_beside, charp, 0444);
MODULE_PARM_DESC(beside, "providers of unconnected endpoints to use meanwhile");
char *st_peer = "";
module_param_named(peer, st_peer, charp, 0444);
MODULE_PARM_DESC(peer, "remote: address of who sends back what it gets");
ushort st_peer_port = 7;
module_param_named(peer_port, st_peer_port, ushort, 0444);
MODULE_PARM_DESC(peer_port, "remote: its port");
char *st_nobody = "";
module_param_named(nobody, st_nobody, charp, 0444);
MODULE_PARM_DESC(nobody, "remote: an address that nobody has");
bool st_datagrams;
module_param_named(dgram, st_datagrams, bool, 0444);
MODULE_PARM_DESC(dgram,
		 "test the datagram endpoints of verbs, not the connected");
bool st_go;
module_param_named(go, st_go, bool, 0644);
MODULE_PARM_DESC(go, "set by somebody else when a test that waits may go on");
static char *st_only = "";
module_param_named(only, st_only, charp, 0444);
MODULE_PARM_DESC(only, "run only the group of tests of this name");

static struct dentry *st_dir;
static unsigned int st_total_passed, st_total_failed;

struct st_group {
	const char *name;
	void (*run)(struct st *st);
	bool if_named; /* needs something else to be done, or set */
	bool layer; /* of providers over another one */
	bool dgram; /* of those that promise nothing */
};

static const struct st_group st_groups[] = {
	{ "info", st_test_info },
	{ "object", st_test_object },
	{ "connect", st_test_connect },
	{ "msg", st_test_msg },
	{ "rma", st_test_rma },
	{ "read", st_test_read },
	{ "access", st_test_access },
	{ "queue", st_test_queue },
	{ "level", st_test_level },
	{ "atomic", st_test_atomic },
	{ "close", st_test_close },
	{ "context", st_test_context },
	{ "cntr", st_test_cntr },
	{ "look", st_test_look },
	{ "wait", st_test_wait },
	{ "order", st_test_order },
	{ "srx", st_test_srx },
	{ "srx_alloc", st_test_srx_alloc, true },
	{ "srx_left", st_test_srx_left, true },
	{ "srx_made", st_test_srx_made, true },
	{ "cycle", st_test_cycle },
	{ "memory", st_test_memory, true },
	{ "late", st_test_late, true },
	{ "two_closes", st_test_two_closes, true },
	{ "doorbell", st_test_doorbell, true },
	{ "strangers", st_test_strangers, true },
};

/* What is tried of providers of unconnected endpoints: st_is_unconnected(). */
static const struct st_group st_rdm_groups[] = {
	{ "object", st_test_rdm_object },
	{ "av", st_test_rdm_av },
	{ "msg", st_test_rdm_msg },
	{ "inject", st_test_rdm_inject },
	{ "tag", st_test_rdm_tag, .layer = true },
	{ "directed", st_test_rdm_directed, .layer = true },
	{ "multi", st_test_rdm_multi, .layer = true },
	{ "rma", st_test_rdm_rma, .layer = true },
	{ "atomic", st_test_rdm_atomic, .layer = true },
	{ "scalable", st_test_rdm_scalable, .layer = true },
	{ "cancel", st_test_rdm_cancel },
	{ "peer", st_test_rdm_peer },
	{ "context", st_test_rdm_context },
	{ "cntr", st_test_rdm_cntr },
	{ "srx", st_test_srx },
	{ "busy", st_test_rdm_busy, .layer = true },
	{ "grow", st_test_rdm_grow, .layer = true },
	{ "grow_refused", st_test_rdm_grow_refused, true, true },
	{ "crowd", st_test_rdm_crowd, .layer = true },
	{ "again", st_test_rdm_again, .layer = true },
	{ "hostile", st_test_rdm_hostile, .layer = true },
	{ "broken", st_test_rdm_broken, .layer = true },
	{ "dgram", st_test_dgram, .dgram = true },
	{ "full", st_test_dgram_full, true, .dgram = true },
	{ "absent", st_test_dgram_absent, true, .dgram = true },
	{ "unplug", st_test_dgram_unplug, true, .dgram = true },
	{ "ud", st_test_ud, .dgram = true },
	{ "late_cancel", st_test_ud_late_cancel, true, .dgram = true },
	{ "asked_crowd", st_test_ud_crowd, true, .dgram = true },
	{ "asked_again", st_test_ud_again, true, .dgram = true },
	{ "claim", st_test_ud_claim, true, .dgram = true },
	{ "mtu", st_test_ud_mtu, true, .dgram = true },
	{ "stray", st_test_ud_stray, true, .dgram = true },
	{ "server", st_test_ud_server, true, .dgram = true },
	{ "client", st_test_ud_client, true, .dgram = true },
	{ "grant", st_test_rdm_grant, .layer = true },
	{ "idle", st_test_rdm_idle, true, true },
	{ "removal", st_test_rdm_removal, true, true },
	{ "settle", st_test_rdm_settle, true, true },
	{ "refused", st_test_rdm_refused, true, true },
	{ "alloc", st_test_rdm_alloc, true },
	{ "atomic_lost", st_test_rdm_atomic_lost, true, true },
	{ "remote", st_test_remote, true },
	{ "cut", st_test_cut, true },
	{ "gone", st_test_gone, true },
	{ "memory", st_test_rdm_memory, true },
	{ "cost", st_test_rdm_cost, true },
	{ "peers", st_test_rdm_peers, true, true },
	{ "woken_cancel", st_test_woken_cancel, true },
	{ "woken_late", st_test_woken_late, true },
	{ "cycle", st_test_rdm_cycle, true, true },
};

static bool st_is_wanted(const char *name)
{
	return !*st_only || !strcmp(st_only, name);
}

static bool st_is_due(const struct st *st, const struct st_group *group)
{
	return st_is_wanted(group->name) && (*st_only || !group->if_named) &&
	       (!group->layer || st_is_rdm_layer(st)) &&
	       (!group->dgram || st_is_dgram(st));
}

static void st_end_subtest(struct st *st, unsigned int number)
{
	st_tap_line("    1..%u", st->passed + st->failed);
	st_tap_line("%sok %u - %s # %u passed, %u failed",
		    st->failed ? "not " : "", number, st->provider, st->passed,
		    st->failed);
	st_total_passed += st->passed;
	st_total_failed += st->failed;
}

static void st_run_provider(const char *name, unsigned int number)
{
	struct st *st = kzalloc(sizeof(*st), GFP_KERNEL);
	const struct st_group *group = st_groups;
	size_t i, groups = ARRAY_SIZE(st_groups);
	int ret;

	if (!st)
		return;
	st->provider = name;
	st->node = st_node;
	st->service = st_service;
	st_tap_line("# Subtest: %s", name);
	if (st_is_unconnected(st)) {
		group = st_rdm_groups;
		groups = ARRAY_SIZE(st_rdm_groups);
		ret = st_rdm_open(st);
	} else {
		ret = st_open(st);
	}
	if (CHECK_EQ(st, ret, 0, "the provider opens")) {
		st_beside_start(st, st_beside);
		for (i = 0; i < groups; i++)
			if (st_is_due(st, &group[i])) {
				st_tap_line("    # %s", group[i].name);
				group[i].run(st);
			}
		st_beside_stop(st);
	}
	st_close(st);
	st_end_subtest(st, number);
	kfree(st);
}

/* What needs no provider but the test's own. */
static void st_run_core(unsigned int number)
{
	struct st *st = kzalloc(sizeof(*st), GFP_KERNEL);

	if (!st)
		return;
	st->provider = "core";
	st_tap_line("# Subtest: core");
	st_test_core(st);
	st_test_dummy(st);
	st_end_subtest(st, number);
	kfree(st);
}

/* The names of all providers that are there. */
static unsigned int st_find_all(char **names)
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

static unsigned int st_split_names(char **names)
{
	char *copy = kstrdup(st_provider, GFP_KERNEL), *rest = copy, *name;
	unsigned int n = 0;

	while ((name = strsep(&rest, ",")) && n < MAX_PROVIDERS)
		if (*name)
			names[n++] = kstrdup(name, GFP_KERNEL);
	kfree(copy);
	return n;
}

static void st_run_all(void)
{
	char *names[MAX_PROVIDERS] = {};
	unsigned int i, n, done = 0;

	n = *st_provider ? st_split_names(names) : st_find_all(names);
	st_tap_line("KTAP version 1");
	st_tap_line("1..%u", n + st_is_wanted("core"));
	if (st_is_wanted("core"))
		st_run_core(++done);
	for (i = 0; i < n; i++) {
		if (names[i])
			st_run_provider(names[i], ++done);
		kfree(names[i]);
	}
	st_tap_line("# Totals: pass:%u fail:%u", st_total_passed,
		    st_total_failed);
}

static int st_results_show(struct seq_file *m, void *v)
{
	st_tap_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(st_results);

static int st_score_show(struct seq_file *m, void *v)
{
	seq_printf(m, "%u %u\n", st_total_passed, st_total_failed);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(st_score);

static int __init st_init(void)
{
	int ret = st_tap_setup();

	if (ret)
		return ret;
	st_run_all();
	st_dir = debugfs_create_dir("selftest", kfi_debugfs_dir());
	debugfs_create_file("results", 0444, st_dir, NULL, &st_results_fops);
	debugfs_create_file("score", 0444, st_dir, NULL, &st_score_fops);
	return 0;
}

static void __exit st_exit(void)
{
	debugfs_remove_recursive(st_dir);
	st_tap_teardown();
}

module_init(st_init);
module_exit(st_exit);
MODULE_DESCRIPTION("kfabric: what every provider must do");
MODULE_LICENSE("Dual BSD/GPL");
