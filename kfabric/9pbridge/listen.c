// SPDX-License-Identifier: BSD-2-Clause
/* kfabric-9p-bridge: waits for connection requests. */
#include <stdio.h>
#include <string.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include "bridge.h"
#include "stcp.h"

#define CM_DATA_ROOM 256
/* A wait of libfabric 1.17 is not always woken. */
#define SLICE_MS 500

/**
 * struct listener - what takes the requests
 * @info: what it listens with
 * @fabric: of @info
 * @eq: its events
 * @pep: it
 */
struct listener {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fid_pep *pep;
};

static int get_info(const struct bridge_options *o, struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int ret = -FI_ENOMEM;

	if (!hints)
		return ret;
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
				      FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup(o->provider);
	if (hints->fabric_attr->prov_name)
		ret = stcp_choose_getinfo(FI_VERSION(1, 17), o->node, o->port,
					  FI_SOURCE, hints, info);
	fi_freeinfo(hints);
	return ret;
}

static int listener_open(struct listener *l, const struct bridge_options *o)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	int ret = get_info(o, &l->info);

	if (!ret)
		ret = stcp_choose_fabric(l->info->fabric_attr, &l->fabric,
					 NULL);
	if (!ret)
		ret = fi_eq_open(l->fabric, &eq_attr, &l->eq, NULL);
	if (!ret)
		ret = fi_passive_ep(l->fabric, l->info, &l->pep, NULL);
	if (!ret)
		ret = fi_pep_bind(l->pep, &l->eq->fid, 0);
	return ret ? ret : fi_listen(l->pep);
}

/* Return: 0, or why no request will come any more. */
static int take_event(struct listener *l, const struct bridge_options *o)
{
	union {
		struct fi_eq_cm_entry cm;
		uint8_t room[sizeof(struct fi_eq_cm_entry) + CM_DATA_ROOM];
	} event;
	struct fi_eq_err_entry failure = { 0 };
	uint32_t kind;
	ssize_t n =
		fi_eq_sread(l->eq, &kind, &event, sizeof(event), SLICE_MS, 0);

	if (n == -FI_EAVAIL) {
		fi_eq_readerr(l->eq, &failure, 0);
		bridge_say("a connection request has failed: %s",
			   fi_strerror(failure.err));
		return 0;
	}
	if (n == -FI_EAGAIN || n == -FI_EINTR)
		return 0;
	if (n < (ssize_t)sizeof(event.cm))
		return n < 0 ? (int)n : -FI_EOTHER;
	if (kind == FI_CONNREQ)
		bridge_conn_begin(o, l->fabric, l->pep, event.cm.info,
				  event.cm.data, (size_t)n - sizeof(event.cm));
	return 0;
}

int bridge_listen(const struct bridge_options *options)
{
	struct listener l = { 0 };
	int ret = listener_open(&l, options);

	if (ret) {
		bridge_say("cannot listen at %s port %s with provider %s: %s",
			   options->node, options->port, options->provider,
			   fi_strerror(-ret));
	} else {
		printf("listening at %s port %s\n", options->node,
		       options->port);
		fflush(stdout);
	}
	while (!ret)
		ret = take_event(&l, options);
	if (l.pep)
		fi_close(&l.pep->fid);
	if (l.eq)
		fi_close(&l.eq->fid);
	if (l.fabric)
		fi_close(&l.fabric->fid);
	fi_freeinfo(l.info);
	return -ret;
}
