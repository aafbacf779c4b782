// SPDX-License-Identifier: BSD-2-Clause
/* The RDMA devices behind a listening address. */
#include "brickd/net/devices.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brickd/base/log.h"
#include "proto/kfb_wire.h"

/* How good an address is to reach its device by; 0: not at all. */
enum rank {
	RANK_NONE,
	RANK_OTHER_FAMILY,
	RANK_SAME_FAMILY,
};

/* A device, its best address so far. */
struct candidate {
	const char *name;
	const struct sockaddr *addr;
	enum rank rank;
};

static enum rank rank_of(const struct sockaddr *addr, bool v6)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;

	if (!addr)
		return RANK_NONE;
	if (addr->sa_family == AF_INET)
		return v6 ? RANK_OTHER_FAMILY : RANK_SAME_FAMILY;
	/* A link-local address needs a scope, which is not told here. */
	if (addr->sa_family != AF_INET6 || !v6 ||
	    IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
		return RANK_NONE;
	return RANK_SAME_FAMILY;
}

/* Return: how many, or -E2BIG. */
static int collect_devices(const struct fi_info *list, bool v6,
			   struct candidate out[BRICK_DEVICES_MAX])
{
	int n = 0, i;

	for (; list; list = list->next) {
		const char *name = list->domain_attr->name;
		enum rank rank = rank_of(list->src_addr, v6);

		for (i = 0; i < n && strcmp(out[i].name, name); i++)
			;
		if (i == BRICK_DEVICES_MAX)
			return -E2BIG;
		if (i == n)
			out[n++] = (struct candidate){ .name = name };
		if (rank > out[i].rank) {
			out[i].rank = rank;
			out[i].addr = list->src_addr;
		}
	}
	return n;
}

static int find_all(const struct brick_address *listen,
		    struct brick_address found[BRICK_DEVICES_MAX], uint32_t *n)
{
	struct candidate devices[BRICK_DEVICES_MAX];
	struct fi_info *hints = brick_fabric_hints(listen);
	struct fi_info *list = NULL;
	int rc, count = 0;
	socklen_t len;

	if (!hints)
		return -ENOMEM;
	hints->addr_format = FI_FORMAT_UNSPEC;
	rc = fi_getinfo(BRICK_FI_VERSION, NULL, NULL, 0, hints, &list);
	fi_freeinfo(hints);
	if (rc)
		return rc;
	count = collect_devices(list, strchr(listen->host, ':'), devices);
	*n = 0;
	for (int i = 0; i < count && !rc; i++) {
		struct brick_address *to = &found[*n];

		if (!devices[i].rank) {
			brick_log(LOG_NOTICE, NULL,
				  "not serving over %s: it has no address to "
				  "be tested by",
				  devices[i].name);
			continue;
		}
		(*n)++;
		*to = *listen;
		to->wildcard = false;
		len = devices[i].addr->sa_family == AF_INET6
			      ? sizeof(struct sockaddr_in6)
			      : sizeof(struct sockaddr_in);
		if (getnameinfo(devices[i].addr, len, to->host,
				sizeof(to->host), NULL, 0, NI_NUMERICHOST))
			rc = -EINVAL;
	}
	fi_freeinfo(list);
	if (count < 0)
		return count;
	return rc || *n ? rc : -ENODEV;
}

int brick_devices_find(const struct brick_address *listen,
		       struct brick_address found[BRICK_DEVICES_MAX],
		       uint32_t *n, char *err, size_t err_len)
{
	char url[BRICK_URL_BYTES];
	int rc;

	if (!listen->wildcard || !listen->scheme->is_rdma) {
		found[0] = *listen;
		/* Where it is bound the test listens on loopback alone. */
		if (listen->wildcard || *listen->interface)
			snprintf(found[0].host, sizeof(found[0].host), "%s",
				 strchr(listen->host, ':') ? "::1"
							   : "127.0.0.1");
		*n = 1;
		return 0;
	}
	rc = find_all(listen, found, n);
	if (!rc)
		return 0;
	brick_address_format(listen, 0, url);
	snprintf(err, err_len,
		 "%s: cannot tell the RDMA devices apart (%s): name an address "
		 "of each instead",
		 url, fi_strerror(-rc));
	return rc;
}

int brick_device_add(struct brick_fabric *f, const struct fi_info *info)
{
	struct fi_info *copy;

	if (brick_device_is_tested(f, info))
		return 0;
	if (f->n_devices == BRICK_DEVICES_MAX)
		return -E2BIG;
	copy = fi_dupinfo(info);
	if (!copy)
		return -ENOMEM;
	f->devices[f->n_devices++] = copy;
	return 0;
}

void brick_devices_fini(struct brick_fabric *f)
{
	while (f->n_devices)
		fi_freeinfo(f->devices[--f->n_devices]);
}

bool brick_device_is_tested(const struct brick_fabric *f,
			    const struct fi_info *info)
{
	/* The others have no devices: what was tested is the provider. */
	if (!f->address->scheme->is_rdma && f->n_devices)
		return true;
	for (uint32_t i = 0; i < f->n_devices; i++)
		if (!strcmp(f->devices[i]->domain_attr->name,
			    info->domain_attr->name))
			return true;
	return false;
}

bool brick_device_is_soft(const char *folder, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (access(path, F_OK))
		return false;
	snprintf(path, sizeof(path), "%s/%s/device", folder, name);
	return access(path, F_OK) && errno == ENOENT;
}

/* The last slot's place: it has no metadata, whatever the format. */
static int try_register(const struct brick_fabric *f, struct fi_info *device,
			const struct brick_media *media)
{
	uint64_t slot = (media->size >> KFB_BLOCK_SHIFT) - 1;
	struct brick_region region = { 0 };
	struct fid_domain *domain;
	int rc;

	rc = fi_domain(f->fabric, device, &domain, NULL);
	if (rc)
		return rc;
	rc = brick_fabric_reg(f, domain,
			      media->base + (slot << KFB_BLOCK_SHIFT),
			      KFB_BLOCK_BYTES, true, &region);
	(void)brick_fabric_dereg(&region, NULL);
	fi_close(&domain->fid);
	return rc;
}

static const char *advice_for(int rc)
{
	if (rc == -ENOMEM)
		return "raise LimitMEMLOCK (ulimit -l), or grant CAP_IPC_LOCK";
	return "use devdax (ndctl create-namespace -f -e namespaceX.Y -m "
	       "devdax -a 2M), a tmpfs file, or listen on tcp://";
}

int brick_devices_try_medium(const struct brick_fabric *f,
			     const struct brick_media *media, char *err,
			     size_t err_len)
{
	int rc;

	if (!f->address->scheme->is_rdma)
		return 0;
	/*
	 * Some kernels let it be registered; but the page cache does not see
	 * what a device writes, so that fdatasync may write nothing.
	 */
	if (media->medium == &brick_medium_file) {
		snprintf(err, err_len,
			 "%s: a plain file cannot be served over verbs: what "
			 "devices write there may never reach the disk; %s",
			 media->path, advice_for(-EOPNOTSUPP));
		return -EOPNOTSUPP;
	}
	for (uint32_t i = 0; i < f->n_devices; i++) {
		rc = try_register(f, f->devices[i], media);
		if (!rc)
			continue;
		snprintf(err, err_len, "%s: %s cannot register it: %s%s; %s",
			 media->path, f->devices[i]->domain_attr->name,
			 fi_strerror(-rc),
			 media->medium == &brick_medium_fsdax
				 ? " (fsdax needs a device with on-demand "
				   "paging)"
				 : "",
			 advice_for(rc));
		return rc;
	}
	return 0;
}
