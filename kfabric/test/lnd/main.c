// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The test of kfabric_lnd. When the module is loaded it opens a node, loads its peer for
 * "seconds", or with "count" transactions, and compares; it serves the peer until it is
 * unloaded. Without "peer_node" the peer is another node of its own, at the next port, and
 * single cases are tried as well. With "hostile" nothing is loaded, and the peer is one
 * that breaks all rules.
 *
 * Results are KTAP, on the console and in debugfs: kfabric/lnd_test/results.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <kfabric/kfi_provider.h>

#include "lt.h"

static char *lt_prov = "rdm;tcp";
module_param_named(prov, lt_prov, charp, 0444);
MODULE_PARM_DESC(prov, "provider of unconnected endpoints");
static char *lt_own = "127.0.0.1";
module_param_named(node, lt_own, charp, 0444);
MODULE_PARM_DESC(node, "address to listen at");
static ushort lt_port = 988;
module_param_named(port, lt_port, ushort, 0444);
MODULE_PARM_DESC(port, "port to listen at, and the peer's");
static char *lt_peer_node = "";
module_param_named(peer_node, lt_peer_node, charp, 0444);
MODULE_PARM_DESC(peer_node, "address of the peer, where the module is loaded, "
			    "too; empty: a node of its own");
static ulong lt_nid = 1;
module_param_named(nid, lt_nid, ulong, 0444);
MODULE_PARM_DESC(nid, "this node's number");
static ulong lt_peer_nid = 2;
module_param_named(peer_nid, lt_peer_nid, ulong, 0444);
MODULE_PARM_DESC(peer_nid, "the peer's number");
unsigned int lt_count;
module_param_named(count, lt_count, uint, 0444);
MODULE_PARM_DESC(count,
		 "transactions of each node; 0: as many as there is time");
unsigned int lt_seconds;
module_param_named(seconds, lt_seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "how long to begin transactions; 0: until count");
unsigned int lt_depth = 8;
module_param_named(depth, lt_depth, uint, 0444);
MODULE_PARM_DESC(depth, "transactions at one time");
unsigned int lt_timeout_ms = 120000;
module_param_named(timeout_ms, lt_timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "until a transaction ends in any case");

static bool lt_is_hostile;
module_param_named(hostile, lt_is_hostile, bool, 0444);
MODULE_PARM_DESC(hostile, "no load, but a peer that breaks all rules");

static struct dentry *lt_dir;
static char *lt_results;
static size_t lt_results_len;
static unsigned int lt_points;
static struct lt_node *lt_nodes[2];

static __printf(1, 0) void lt_vline(const char *format, va_list args)
{
	char *at = lt_results + lt_results_len;

	lt_results_len += vscnprintf(at, LT_RESULTS_BYTES - lt_results_len - 1,
				     format, args);
	pr_info("%s\n", at);
	lt_results[lt_results_len++] = '\n';
}

/* What does not fit is cut. */
void lt_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	lt_vline(format, args);
	va_end(args);
}

bool lt_point(bool ok, const char *format, ...)
{
	struct va_format vaf = { .fmt = format };
	va_list args;

	va_start(args, format);
	vaf.va = &args;
	lt_line("%sok %u - %pV", ok ? "" : "not ", ++lt_points, &vaf);
	va_end(args);
	return ok;
}

int lt_node_open(struct lt_node *n, u64 nid, u64 incarnation, const char *prov,
		 const char *node, unsigned int port)
{
	char service[8];
	struct klnd_attr attr = {
		.nid = nid,
		.incarnation = incarnation,
		.prov = prov,
		.node = node,
		.service = service,
		.ops = &lt_ops,
		.context = n,
	};

	snprintf(service, sizeof(service), "%u", port);
	return klnd_open(&attr, &n->net);
}

static struct lt_node *lt_node_new(u64 nid, u64 peer)
{
	struct lt_node *n = kzalloc(sizeof(*n), GFP_KERNEL);

	if (!n)
		return NULL;
	n->nid = nid;
	n->peer = peer;
	spin_lock_init(&n->lock);
	init_waitqueue_head(&n->idle);
	if (!lt_serve_alloc(n) && !lt_load_alloc(n))
		return n;
	lt_node_close(n);
	return NULL;
}

void lt_node_close(struct lt_node *n)
{
	if (!n)
		return;
	if (n->net)
		klnd_close(n->net);
	lt_load_free(n);
	lt_serve_free(n);
	kfree(n);
}

/* A node and whom it talks to. */
static struct lt_node *lt_node_start(u64 nid, unsigned int port, u64 peer,
				     const char *peer_node,
				     unsigned int peer_port)
{
	struct lt_node *n = lt_node_new(nid, peer);
	char service[8];
	int ret;

	if (!n)
		return NULL;
	snprintf(service, sizeof(service), "%u", peer_port);
	ret = lt_node_open(n, nid, 0, lt_prov, lt_own, port);
	ret = ret ?: klnd_peer_add(n->net, peer, peer_node, service);
	if (lt_point(!ret, "node %llu opens over %s: %d", nid, lt_prov, ret))
		return n;
	lt_node_close(n);
	return NULL;
}

/* Both nodes are here. */
static void lt_run_alone(void)
{
	struct lt_node *a, *b;

	a = lt_nodes[0] = lt_node_start(1, lt_port, 2, lt_own, lt_port + 1);
	b = lt_nodes[1] = lt_node_start(2, lt_port + 1, 1, lt_own, lt_port);
	if (!a || !b)
		return;
	lt_load_begin(a);
	lt_load_begin(b);
	lt_load_end(a);
	lt_load_end(b);
	lt_load_verify(a);
	lt_load_verify(b);
	lt_cases(a, b, lt_prov, lt_own, lt_port);
}

static void lt_run_beside(void)
{
	struct lt_node *n;

	n = lt_nodes[0] = lt_node_start(lt_nid, lt_port, lt_peer_nid,
					lt_peer_node, lt_port);
	if (!n)
		return;
	lt_load_begin(n);
	lt_load_end(n);
	lt_load_verify(n);
}

static int lt_results_show(struct seq_file *m, void *v)
{
	seq_write(m, lt_results, lt_results_len);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(lt_results);

static int __init lt_init(void)
{
	if (!lt_depth || lt_depth > LT_DEPTH_MAX || !lt_timeout_ms ||
	    !(lt_count || lt_seconds || lt_is_hostile))
		return -EINVAL;
	lt_results = kzalloc(LT_RESULTS_BYTES, GFP_KERNEL);
	if (!lt_results)
		return -ENOMEM;
	lt_line("KTAP version 1");
	if (lt_is_hostile)
		lt_hostile(lt_prov, lt_own, lt_port);
	else if (*lt_peer_node)
		lt_run_beside();
	else
		lt_run_alone();
	lt_line("1..%u", lt_points);
	lt_dir = debugfs_create_dir("lnd_test", kfi_debugfs_dir());
	debugfs_create_file("results", 0444, lt_dir, NULL, &lt_results_fops);
	return 0;
}

static void __exit lt_exit(void)
{
	debugfs_remove_recursive(lt_dir);
	lt_node_close(lt_nodes[0]);
	lt_node_close(lt_nodes[1]);
	kfree(lt_results);
}

module_init(lt_init);
module_exit(lt_exit);
MODULE_DESCRIPTION("kfabric: load on kfabric_lnd");
MODULE_LICENSE("Dual BSD/GPL");
