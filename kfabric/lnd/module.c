// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_lnd: parameters, and what debugfs shows of the nets that are open.
 *
 * Context: process.
 */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <kfabric/kfi_provider.h>

#include "lnd.h"

char *klnd_prov = "rdm;tcp";
module_param_named(prov, klnd_prov, charp, 0444);
MODULE_PARM_DESC(prov, "provider of unconnected endpoints");
char *klnd_node = "127.0.0.1";
module_param_named(node, klnd_node, charp, 0444);
MODULE_PARM_DESC(node, "address to listen at");
char *klnd_service = "988";
module_param_named(service, klnd_service, charp, 0444);
MODULE_PARM_DESC(service, "port to listen at");
unsigned int klnd_op_timeout_ms = 3000;
module_param_named(op_timeout_ms, klnd_op_timeout_ms, uint, 0644);
MODULE_PARM_DESC(op_timeout_ms,
		 "a message or a move of bytes that is not done is begun anew "
		 "after so long, in nets that are opened afterwards");

struct workqueue_struct *klnd_wq;
DEFINE_MUTEX(klnd_nets_lock);
LIST_HEAD(klnd_nets);
static struct dentry *klnd_dir;

u64 klnd_now_ms(void)
{
	return ktime_to_ms(ktime_get());
}

static const char *const klnd_state_names[LNDW_STATES] = {
	[LNDW_DOWN] = "down",
	[LNDW_GREETING] = "greeting",
	[LNDW_UP] = "up",
	[LNDW_OLD_HERE] = "outdated",
};

static int klnd_nets_show(struct seq_file *m, void *v)
{
	const struct klnd_counts *c;
	struct klnd_peer *peer;
	struct klnd_net *net;
	unsigned int i;

	mutex_lock(&klnd_nets_lock);
	list_for_each_entry(net, &klnd_nets, node) {
		c = &net->counts;
		mutex_lock(&net->lock);
		seq_printf(m, "net nid %llu incarnation %llu prov %s%s\n",
			   net->self.nid, net->self.incarnation,
			   net->info->fabric_attr->prov_name,
			   net->is_dead ? " dead" : "");
		seq_printf(
			m,
			" sent %llu unsent %llu strange %llu repeated %llu over %llu busy %llu old %llu other %llu wrong %llu again %llu\n",
			c->sent, c->unsent, c->strange, c->repeated, c->over,
			c->busy, c->old, c->other, c->wrong, c->again);
		for_each_klnd_peer(net, peer, i) seq_printf(
			m,
			" peer nid %llu %s incarnation %llu outstanding %u\n",
			peer->core.nid, klnd_state_names[peer->core.state],
			peer->core.incarnation, peer->core.outstanding);
		mutex_unlock(&net->lock);
	}
	mutex_unlock(&klnd_nets_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(klnd_nets);

static int __init klnd_init(void)
{
	/* A file system's pages may go this way. */
	klnd_wq =
		alloc_workqueue("kfabric_lnd", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!klnd_wq)
		return -ENOMEM;
	klnd_dir = debugfs_create_dir("lnd", kfi_debugfs_dir());
	debugfs_create_file("nets", 0444, klnd_dir, NULL, &klnd_nets_fops);
	return 0;
}

static void __exit klnd_exit(void)
{
	debugfs_remove_recursive(klnd_dir);
	destroy_workqueue(klnd_wq);
}

module_init(klnd_init);
module_exit(klnd_exit);
MODULE_DESCRIPTION(
	"kfabric: puts, gets and pings between nodes, as LNet has them");
MODULE_VERSION(KFB_MODULE_VERSION);
MODULE_LICENSE("Dual BSD/GPL");
