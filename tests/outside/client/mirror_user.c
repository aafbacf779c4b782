// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An upper layer that needs nothing of the tree but kfabric's headers and
 * symbols: sends a message to itself by whatever provider it is told, and loads
 * only if all of it came.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kfabric/fi_av.h>
#include <kfabric/fi_cm.h>
#include <kfabric/fi_endpoint.h>
#include <kfabric/fi_eq.h>

#define MIRROR_BYTES   3000
#define MIRROR_WAIT_MS 60000

static char *mirror_provider = "mirror";
module_param_named(provider, mirror_provider, charp, 0444);
static char *mirror_first = "";
module_param_named(first, mirror_first, charp, 0444);
MODULE_PARM_DESC(first, "who must be the first provider that is offered");
static unsigned int mirror_timeout_ms;
module_param_named(timeout_ms, mirror_timeout_ms, uint, 0444);
MODULE_PARM_DESC(timeout_ms, "how long operations must be allowed to take");

static struct fi_info *mirror_info;
static struct fid_fabric *mirror_fabric;
static struct fid_domain *mirror_domain;
static struct fid_cq *mirror_cq;
static struct fid_av *mirror_av;
static struct fid_ep *mirror_ep;

/* The first of those who are offered to who names none. */
static int mirror_check_first(void)
{
	struct fi_info *list;
	int ret;

	if (!*mirror_first)
		return 0;
	ret = fi_getinfo(FI_VERSION(1, 0), NULL, NULL, FI_PROV_ATTR_ONLY, NULL,
			 &list);
	if (ret)
		return ret;
	if (strcmp(list->fabric_attr->prov_name, mirror_first)) {
		pr_err("mirror_client: %s is the first\n",
		       list->fabric_attr->prov_name);
		ret = -ERANGE;
	}
	fi_freeinfo(list);
	return ret;
}

static int mirror_find(void)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->caps = FI_MSG;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = kstrdup(mirror_provider, GFP_KERNEL);
	ret = fi_getinfo(FI_VERSION(1, 0), "127.0.0.1", "0", FI_SOURCE, hints,
			 &mirror_info);
	fi_freeinfo(hints);
	return ret;
}

static int mirror_check_timeout(void)
{
	u32 ms = mirror_info->ep_attr->op_timeout_ms;

	if (!mirror_timeout_ms || ms == mirror_timeout_ms)
		return 0;
	pr_err("mirror_client: operations may take %u ms\n", ms);
	return -ERANGE;
}

static int mirror_open(void)
{
	int ret = mirror_find();

	ret = ret ?: mirror_check_timeout();
	ret = ret ?: fi_fabric(mirror_info->fabric_attr, &mirror_fabric, NULL);
	ret = ret
		      ?: fi_domain(mirror_fabric, mirror_info, &mirror_domain,
				   NULL);
	ret = ret ?: fi_cq_open(mirror_domain, NULL, &mirror_cq, NULL);
	ret = ret ?: fi_av_open(mirror_domain, NULL, &mirror_av, NULL);
	ret = ret ?: fi_endpoint(mirror_domain, mirror_info, &mirror_ep, NULL);
	ret = ret
		      ?: fi_ep_bind(mirror_ep, &mirror_cq->fid,
				    FI_TRANSMIT | FI_RECV);
	ret = ret ?: fi_ep_bind(mirror_ep, &mirror_av->fid, 0);
	return ret ?: fi_enable(mirror_ep);
}

static void mirror_close(void)
{
	if (mirror_ep)
		fi_close(&mirror_ep->fid);
	if (mirror_av)
		fi_close(&mirror_av->fid);
	if (mirror_cq)
		fi_close(&mirror_cq->fid);
	if (mirror_domain)
		fi_close(&mirror_domain->fid);
	if (mirror_fabric)
		fi_close(&mirror_fabric->fid);
	fi_freeinfo(mirror_info);
}

static int mirror_address(fi_addr_t *to)
{
	struct sockaddr_in6 name;
	size_t len = sizeof(name);
	int ret = fi_getname(&mirror_ep->fid, &name, &len);

	if (ret)
		return ret;
	ret = fi_av_insert(mirror_av, &name, 1, to, 0, NULL);
	return ret == 1 ? 0 : -EADDRNOTAVAIL;
}

/* Both have been posted, or what became of it. */
static int mirror_post(const u8 *from, u8 *to, fi_addr_t self,
		       struct fi_context *tx, struct fi_context *rx)
{
	int ret =
		fi_recv(mirror_ep, to, MIRROR_BYTES, NULL, FI_ADDR_UNSPEC, rx);

	return ret ?: fi_send(mirror_ep, from, MIRROR_BYTES, NULL, self, tx);
}

static int mirror_exchange(u8 *bytes, struct fi_context *tx,
			   struct fi_context *rx)
{
	struct fi_cq_data_entry entry;
	fi_addr_t self;
	int i, ret = mirror_address(&self);

	memset(bytes, 0x5a, MIRROR_BYTES);
	ret = ret ?: mirror_post(bytes, bytes + MIRROR_BYTES, self, tx, rx);
	for (i = 0; i < 2 && !ret; i++)
		if (fi_cq_sread(mirror_cq, &entry, 1, NULL, MIRROR_WAIT_MS) !=
		    1)
			ret = -EIO;
	if (!ret && memcmp(bytes, bytes + MIRROR_BYTES, MIRROR_BYTES))
		ret = -EILSEQ;
	/* What is still posted has its memory until this has returned. */
	fi_close(&mirror_ep->fid);
	mirror_ep = NULL;
	return ret;
}

static int mirror_run(void)
{
	size_t size = mirror_info->domain_attr->op_context_size;
	struct fi_context *tx = kzalloc(size, GFP_KERNEL);
	struct fi_context *rx = kzalloc(size, GFP_KERNEL);
	u8 *bytes = kzalloc(2 * MIRROR_BYTES, GFP_KERNEL);
	int ret = -ENOMEM;

	if (tx && rx && bytes)
		ret = mirror_exchange(bytes, tx, rx);
	kfree(tx);
	kfree(rx);
	kfree(bytes);
	return ret;
}

static int __init mirror_client_init(void)
{
	int ret = mirror_check_first();

	ret = ret ?: mirror_open();
	ret = ret ?: mirror_run();
	mirror_close();
	if (ret)
		pr_err("mirror_client: %s: error %d\n", mirror_provider, ret);
	return ret;
}

static void __exit mirror_client_exit(void)
{
}

module_init(mirror_client_init);
module_exit(mirror_client_exit);
MODULE_DESCRIPTION("an upper layer of kfabric, of somebody else");
MODULE_LICENSE("Dual BSD/GPL");
