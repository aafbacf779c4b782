// SPDX-License-Identifier: BSD-2-Clause
/* One listening address: provider, event queue, passive endpoint, keys. */
#include "brickd/net/fabric.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/base/log.h"
#include "brickd/base/util.h"
#include "brickd/net/devices.h"
#include "kfabric/user/stcp.h"
#include "kfabric/user/way.h"
#include "proto/kfb_wire.h"

/* Random 64-bit keys do not collide; a bound all the same. */
#define KEY_TRIES 4
/* Ports that are tried to find out about a wildcard address. */
#define PORT_TRIES 8

void brick_fabric_prepare(void)
{
	setenv("FI_MR_CACHE_MAX_COUNT", "0", 1);
	setenv("FI_MR_CACHE_MONITOR", "disabled", 1);
	setenv("IPATH_NO_BACKTRACE", "1", 1);
	setenv("HFI_NO_BACKTRACE", "1", 1);
}

/* libpsm catches faults and exits without a core: take its handlers away. */
static void reset_fault_handlers(void)
{
#ifndef __SANITIZE_ADDRESS__
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGABRT,
				       SIGFPE };

	for (size_t i = 0; i < BRICK_ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
#endif
}

struct fi_info *brick_fabric_hints(const struct brick_address *a)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->mode = FI_CONTEXT;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
				      FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->addr_format =
		strchr(a->host, ':') ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	hints->fabric_attr->prov_name = strdup(a->scheme->fabric);
	if (!hints->fabric_attr->prov_name) {
		fi_freeinfo(hints);
		return NULL;
	}
	return hints;
}

void brick_fabric_any_port(struct fi_info *info)
{
	struct sockaddr *addr = info->src_addr;

	if (addr && addr->sa_family == AF_INET6)
		((struct sockaddr_in6 *)info->src_addr)->sin6_port = 0;
	else if (addr && addr->sa_family == AF_INET)
		((struct sockaddr_in *)info->src_addr)->sin_port = 0;
}

void brick_fabric_loopback(struct fi_info *info)
{
	struct sockaddr *addr = info->src_addr;

	if (addr && addr->sa_family == AF_INET6)
		((struct sockaddr_in6 *)info->src_addr)->sin6_addr =
			in6addr_loopback;
	else if (addr && addr->sa_family == AF_INET)
		((struct sockaddr_in *)info->src_addr)->sin_addr.s_addr =
			htonl(INADDR_LOOPBACK);
}

/*
 * Asked for port 0, the verbs provider does not know a wildcard when it sees
 * one and binds what it offers to the first device. A free port helps.
 */
static int get_wildcard_info(const struct brick_address *a,
			     const struct fi_info *hints, struct fi_info **info)
{
	char service[BRICK_SERVICE_BYTES];
	int rc = -FI_EADDRINUSE;

	for (unsigned int i = 0; rc && i < PORT_TRIES; i++) {
		snprintf(service, sizeof(service), "%u", KFB_PORT_DEFAULT + i);
		rc = stcp_choose_getinfo(BRICK_FI_VERSION, a->host, service,
					 FI_SOURCE | FI_NUMERICHOST, hints,
					 info);
	}
	if (!rc)
		brick_fabric_any_port(*info);
	return rc;
}

static int find_provider(struct brick_fabric *f, char *err, size_t err_len)
{
	const struct brick_address *a = f->address;
	struct fi_info *hints = brick_fabric_hints(a);
	char url[BRICK_URL_BYTES];
	uint64_t mode;
	int rc;

	if (!hints)
		return -ENOMEM;
	if (a->wildcard && !strcmp(a->service, "0"))
		rc = get_wildcard_info(a, hints, &f->info);
	else
		rc = stcp_choose_getinfo(BRICK_FI_VERSION, a->host, a->service,
					 FI_SOURCE | FI_NUMERICHOST, hints,
					 &f->info);
	fi_freeinfo(hints);
	reset_fault_handlers();
	if (rc) {
		brick_address_format(a, 0, url);
		snprintf(err, err_len,
			 "%s: libfabric finds no %s provider there: %s", url,
			 a->scheme->name, fi_strerror(-rc));
		return rc;
	}
	mode = (uint64_t)f->info->domain_attr->mr_mode;
	f->mr_local = mode & FI_MR_LOCAL;
	f->mr_virt_addr = mode & FI_MR_VIRT_ADDR;
	f->mr_prov_key = mode & FI_MR_PROV_KEY;
	f->mr_fences = a->scheme->is_fencing;
	f->write_is_placed = a->scheme->is_rdma;
	return 0;
}

/*
 * Looks the interface up that connections are to come by, once: a link that is
 * made anew under its name has another number, and is none of ours.
 */
static int find_interface(struct brick_fabric *f, bool any, char *err,
			  size_t err_len)
{
	const struct brick_address *a = f->address;
	char url[BRICK_URL_BYTES];
	struct stcp_way way;
	int rc;

	f->path = a->loopback ? KFB_PATH_LOOPBACK : KFB_PATH_UNTRUSTED;
	if (a->scheme->is_rdma)
		f->path = KFB_PATH_RDMA;
	if (!*a->interface)
		return 0;
	brick_address_format(a, 0, url);
	rc = stcp_way_by(a->interface, &way);
	if (rc) {
		snprintf(err, err_len,
			 "%s: interface %s: %s; ip link shows those that there "
			 "are, and a tunnel is to be there first",
			 url, a->interface, strerror(-rc));
		return rc;
	}
	f->interface = way.index;
	if (!a->loopback)
		f->path = kfb_path_of(way.is_local, way.kind);
	if (f->path != KFB_PATH_UNTRUSTED || any)
		return 0;
	snprintf(err, err_len,
		 "%s: %s is no WireGuard interface (its kind is %s): what tcp "
		 "carries there is not encrypted; name one, use verbs, or "
		 "allow-untrusted-tcp = yes",
		 url, a->interface, *way.kind ? way.kind : "none");
	return -EPERM;
}

int brick_fabric_open(struct brick_fabric *f, bool allow_untrusted, char *err,
		      size_t err_len)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };
	int rc;

	rc = find_interface(f, allow_untrusted, err, err_len);
	if (!rc)
		rc = find_provider(f, err, err_len);
	if (rc)
		return rc;
	rc = stcp_choose_fabric(f->info->fabric_attr, &f->fabric, NULL);
	if (rc)
		goto free_info;
	rc = fi_eq_open(f->fabric, &attr, &f->eq, NULL);
	if (rc)
		goto close_fabric;
	rc = fi_control(&f->eq->fid, FI_GETWAIT, &f->source.fd);
	if (rc)
		goto close_eq;
	return 0;

close_eq:
	fi_close(&f->eq->fid);
close_fabric:
	fi_close(&f->fabric->fid);
free_info:
	fi_freeinfo(f->info);
	snprintf(err, err_len, "cannot open the %s fabric: %s",
		 f->address->scheme->name, fi_strerror(-rc));
	return rc;
}

void brick_fabric_close(struct brick_fabric *f)
{
	brick_fabric_unlisten(f);
	brick_devices_fini(f);
	fi_close(&f->eq->fid);
	fi_close(&f->fabric->fid);
	fi_freeinfo(f->info);
}

int brick_fabric_port_of(struct fid_pep *pep, unsigned int *port)
{
	struct sockaddr_storage ss = { 0 };
	size_t len = sizeof(ss);
	int rc = fi_getname(&pep->fid, &ss, &len);

	if (rc)
		return rc;
	*port = ss.ss_family == AF_INET6
			? ntohs(((struct sockaddr_in6 *)&ss)->sin6_port)
			: ntohs(((struct sockaddr_in *)&ss)->sin_port);
	return 0;
}

int brick_fabric_listen(struct brick_fabric *f, char *err, size_t err_len)
{
	const struct stcp_pep_ops *ops;
	char url[BRICK_URL_BYTES];
	int rc;

	rc = fi_passive_ep(f->fabric, f->info, &f->pep, NULL);
	if (rc)
		goto fail;
	rc = fi_pep_bind(f->pep, &f->eq->fid, 0);
	/* The address alone does not do it: Linux takes it in from any interface. */
	if (!rc && f->interface) {
		rc = fi_open_ops(&f->pep->fid, STCP_PEP_OPS, 0, (void **)&ops,
				 NULL);
		if (!rc)
			rc = ops->keep_to(f->pep, f->interface);
	}
	if (!rc)
		rc = fi_listen(f->pep);
	if (rc)
		goto close_pep;
	if (brick_fabric_port_of(f->pep, &f->port))
		f->port = 0;
	return 0;

close_pep:
	fi_close(&f->pep->fid);
	f->pep = NULL;
fail:
	brick_address_format(f->address, 0, url);
	snprintf(err, err_len, "cannot listen on %s: %s", url,
		 fi_strerror(-rc));
	return rc;
}

void brick_fabric_unlisten(struct brick_fabric *f)
{
	if (f->pep)
		fi_close(&f->pep->fid);
	f->pep = NULL;
}

int brick_fabric_reg(const struct brick_fabric *f, struct fid_domain *domain,
		     void *base, size_t len, bool write,
		     struct brick_region *out)
{
	uint64_t access = FI_REMOTE_READ | (write ? FI_REMOTE_WRITE : 0);
	struct fid_mr *mr;
	uint64_t key = 0;
	int rc = -FI_ENOKEY;

	for (int i = 0; i < KEY_TRIES && rc == -FI_ENOKEY; i++) {
		while (!f->mr_prov_key && !key)
			randombytes_buf(&key, sizeof(key));
		rc = fi_mr_reg(domain, base, len, access, 0, key, 0, &mr, NULL);
		key = rc ? 0 : key;
	}
	if (rc)
		return rc;
	out->mr = mr;
	out->key = fi_mr_key(mr);
	out->raddr = f->mr_virt_addr ? (uintptr_t)base : 0;
	return 0;
}

int brick_fabric_dereg(struct brick_region *region, const char *who)
{
	int rc;

	if (!region->mr)
		return 0;
	rc = fi_close(&region->mr->fid);
	if (rc)
		brick_log(LOG_ERR, who, "a registration does not close: %s",
			  fi_strerror(-rc));
	else
		region->mr = NULL;
	return rc;
}
