// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_9p: "mount -t 9p -o trans=kfabric": what the kernel's 9P client calls.
 *
 * Context: process.
 */
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "k9p.h"

static void k9p_close(struct p9_client *client)
{
	struct k9p_conn *conn = client->trans;

	client->status = Disconnected;
	if (!conn)
		return;
	client->trans = NULL;
	k9p_conn_close(conn);
	k9p_options_free(&conn->options);
	kfree(conn);
}

static int k9p_create(struct p9_client *client, const char *node, char *text)
{
	struct k9p_conn *conn;
	int ret;

	if (!node || !*node)
		return -EINVAL;
	conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	if (!conn)
		return -ENOMEM;
	k9p_conn_init(conn, client);
	ret = k9p_options_parse(&conn->options, node, text);
	if (!ret) {
		client->status = Connected;
		ret = k9p_conn_open(conn);
	}
	client->trans = conn;
	if (ret)
		k9p_close(client);
	else
		client->msize = conn->msize;
	return k9p_errno(ret);
}

/* It is on its way: Tflush must take it back. */
static int k9p_cancel(struct p9_client *client, struct p9_req_t *req)
{
	return 1;
}

static int k9p_show_options(struct seq_file *m, struct p9_client *client)
{
	const struct k9p_conn *conn = client->trans;

	if (!conn)
		return 0;
	seq_show_option(m, "port", conn->options.port);
	if (conn->options.provider)
		seq_show_option(m, "prov", conn->options.provider);
	seq_printf(m, ",depth=%u,timeout=%u", conn->depth,
		   conn->options.timeout_s);
	return 0;
}

static struct p9_trans_module k9p_trans = {
	.name = "kfabric",
	.maxsize = K9PW_MSIZE_MAX,
	.owner = THIS_MODULE,
	.create = k9p_create,
	.close = k9p_close,
	.request = k9p_call_start,
	.cancel = k9p_cancel,
	.cancelled = k9p_call_cancelled,
	.show_options = k9p_show_options,
};

static int __init k9p_init(void)
{
	v9fs_register_trans(&k9p_trans);
	return 0;
}

static void __exit k9p_exit(void)
{
	v9fs_unregister_trans(&k9p_trans);
}

module_init(k9p_init);
module_exit(k9p_exit);
MODULE_ALIAS_9P("kfabric");
MODULE_DESCRIPTION("kfabric: transport of the 9P file system");
MODULE_VERSION(KFB_MODULE_VERSION);
MODULE_LICENSE("Dual BSD/GPL");
