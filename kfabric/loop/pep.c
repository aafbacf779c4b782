// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The loop provider: passive endpoints.
 *
 * A listener is known by its port alone: all loopback addresses are one
 * machine. Locking: loop_cm_lock.
 */
#include <linux/in.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "loop.h"

/* Ports given to those who do not ask for one. */
#define FIRST_FREE_PORT 49152
#define LAST_FREE_PORT	65535

DEFINE_MUTEX(loop_cm_lock);
static LIST_HEAD(loop_listeners);
static unsigned int loop_last_port = FIRST_FREE_PORT;

/* Both families have the port at the same place. */
u16 loop_port_of(const void *addr)
{
	return be16_to_cpu(((const struct sockaddr_in *)addr)->sin_port);
}

void loop_set_port(void *addr, u16 port)
{
	((struct sockaddr_in *)addr)->sin_port = cpu_to_be16(port);
}

struct loop_pep *loop_pep_find(u16 port)
{
	struct loop_pep *p;

	lockdep_assert_held(&loop_cm_lock);
	list_for_each_entry(p, &loop_listeners, node)
		if (p->port == port)
			return p;
	return NULL;
}

u16 loop_next_port(void)
{
	lockdep_assert_held(&loop_cm_lock);
	loop_last_port = loop_last_port < LAST_FREE_PORT ? loop_last_port + 1
							 : FIRST_FREE_PORT;
	return loop_last_port;
}

static int loop_listen(struct fid_pep *pep)
{
	struct loop_pep *p = container_of(pep, struct loop_pep, pep);
	unsigned int tries = LAST_FREE_PORT - FIRST_FREE_PORT;
	int ret = -EADDRINUSE;
	u16 port;

	mutex_lock(&loop_cm_lock);
	port = loop_port_of(p->pep.info->src_addr);
	if (!port) {
		do
			port = loop_next_port();
		while (loop_pep_find(port) && tries--);
	}
	if (!loop_pep_find(port)) {
		p->port = port;
		loop_set_port(p->pep.info->src_addr, port);
		list_add(&p->node, &loop_listeners);
		ret = 0;
	}
	mutex_unlock(&loop_cm_lock);
	return ret;
}

static int loop_reject(struct fid_pep *pep, struct kfid *handle,
		       const void *param, size_t paramlen)
{
	struct loop_req *req = container_of(handle, struct loop_req, req.fid);
	bool refused;

	mutex_lock(&loop_cm_lock);
	refused = !req->req.used &&
		  loop_req_refuse(req, ECONNREFUSED, param, paramlen);
	mutex_unlock(&loop_cm_lock);
	return refused ? 0 : -EINVAL;
}

static int loop_pep_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	struct loop_pep *p = container_of(fid, struct loop_pep, pep.fid);

	return kfi_copy_addr(p->pep.info->src_addr, addr, addrlen);
}

/* Requests that have an endpoint already are that endpoint's to answer. */
static void loop_pep_close(struct kfid *fid)
{
	struct loop_pep *p = container_of(fid, struct loop_pep, pep.fid);
	struct loop_req *req, *next;

	mutex_lock(&p->post_lock);
	p->closed = true;
	mutex_unlock(&p->post_lock);
	mutex_lock(&loop_cm_lock);
	list_del_init(&p->node);
	list_for_each_entry_safe(req, next, &p->reqs, node) {
		if (!req->req.used)
			loop_req_refuse(req, ECONNREFUSED, NULL, 0);
	}
	mutex_unlock(&loop_cm_lock);
}

static const struct fi_ops loop_pep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = loop_pep_close,
	.release = kfi_obj_kfree,
};

static const struct fi_ops_pep loop_pep_ops = {
	.size = sizeof(struct fi_ops_pep),
	.listen = loop_listen,
	.reject = loop_reject,
	.getname = loop_pep_getname,
};

int loop_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
		    struct fid_pep **pep, void *context)
{
	struct loop_pep *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int ret;

	if (!p)
		return -ENOMEM;
	INIT_LIST_HEAD(&p->node);
	INIT_LIST_HEAD(&p->reqs);
	mutex_init(&p->post_lock);
	ret = kfi_pep_init(&p->pep, fabric, info, &loop_pep_fid_ops,
			   &loop_pep_ops, context);
	if (ret) {
		kfree(p);
		return ret;
	}
	*pep = &p->pep;
	return 0;
}
