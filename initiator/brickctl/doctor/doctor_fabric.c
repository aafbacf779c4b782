// SPDX-License-Identifier: BSD-2-Clause
/*
 * RDMA devices, their nodes, and what libfabric makes of them.
 */
#include <errno.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "initiator/brickctl/doctor/doctor.h"
#include "kfb_scheme.h"

#define STATE_BYTES   64
#define CHECK_BYTES   64
#define STATE_ACTIVE  "4:"
#define PORT_MAX      8
#define DEVICES	      "class/infiniband"
#define SOFT_ROCE_WAY "rdma link add rxe0 type rxe netdev INTERFACE"

bool doctor_has_rdma(struct doctor *d)
{
	return doctor_look_at(d, DEVICES, "", NULL);
}

static void look_at_rdma_device(struct doctor *d, const char *name)
{
	char state[STATE_BYTES];
	char rate[STATE_BYTES];
	bool any = false;
	unsigned int i;

	for (i = 1; i <= PORT_MAX; i++) {
		if (!ctl_read_line(state, sizeof(state),
				   "%s/" DEVICES "/%s/ports/%u/state", d->sysfs,
				   name, i))
			continue;
		any = true;
		ctl_read_line(rate, sizeof(rate),
			      "%s/" DEVICES "/%s/ports/%u/rate", d->sysfs, name,
			      i);
		if (!strncmp(state, STATE_ACTIVE, strlen(STATE_ACTIVE)))
			doctor_found(d, DOCTOR_OK, NULL,
				     "%s port %u is active, %s", name, i,
				     *rate ? rate : "rate unknown");
		else
			doctor_found(
				d, DOCTOR_PROBLEM,
				"ip link set INTERFACE up; rdma link shows the interface",
				"%s port %u is not active (%s)", name, i,
				state);
	}
	if (!any)
		doctor_found(d, DOCTOR_PROBLEM, "dmesg, then reload its driver",
			     "%s has no ports", name);
}

void doctor_check_devices(struct doctor *d)
{
	if (!doctor_look_at(d, DEVICES, "", look_at_rdma_device))
		doctor_found(
			d, d->wants_rdma ? DOCTOR_PROBLEM : DOCTOR_NOTE,
			"use tcp://, or for trials " SOFT_ROCE_WAY,
			"this machine has no RDMA device: verbs:// cannot work here, tcp:// can");
}

static bool look_at_node(struct doctor *d, const char *path)
{
	if (!access(path, R_OK | W_OK))
		return true;
	doctor_found(
		d, DOCTOR_PROBLEM,
		errno == ENOENT
			? "modprobe -a ib_uverbs rdma_ucm; in a unit PrivateDevices=no"
			: "see its mode and group; Debian's rdma-core sets 0666",
		"%s: %s", path, strerror(errno));
	return false;
}

void doctor_check_nodes(struct doctor *d)
{
	bool fine;

	if (!doctor_has_rdma(d))
		return;
	fine = look_at_node(d, "/dev/infiniband/rdma_cm");
	fine &= look_at_node(d, "/dev/infiniband/uverbs0");
	if (fine)
		doctor_found(d, DOCTOR_OK, NULL,
			     "the nodes in /dev/infiniband can be opened");
}

/* Return: what fi_getinfo() says of message endpoints of a provider. */
static int ask_provider(const char *provider, struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int rc;

	if (!hints)
		return -FI_ENOMEM;
	/* As libkfbrick does, before libfabric looks at them. */
	setenv("FI_MR_CACHE_MAX_COUNT", "0", 0);
	setenv("IPATH_NO_BACKTRACE", "1", 0);
	setenv("HFI_NO_BACKTRACE", "1", 0);
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
				      FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup(provider);
	rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, info);
	fi_freeinfo(hints);
	return rc;
}

static void look_at_libfabric(struct doctor *d, const struct kfb_scheme *scheme)
{
	struct fi_info *info = NULL;
	int rc = ask_provider(scheme->fabric, &info);

	if (!rc)
		doctor_found(d, DOCTOR_OK, NULL, "libfabric offers %s on %s",
			     scheme->fabric, info->domain_attr->name);
	else if (scheme->is_rdma)
		doctor_found(
			d, DOCTOR_PROBLEM,
			"install ibverbs-providers; give an interface of the device an address; fi_info shows the effect",
			"libfabric offers no %s endpoint: %s", scheme->fabric,
			fi_strerror(-rc));
	else
		doctor_found(d, DOCTOR_NOTE, "use tcp://",
			     "libfabric offers no %s endpoint: %s",
			     scheme->fabric, fi_strerror(-rc));
	fi_freeinfo(info);
}

/* libfabric is not asked: ours is spoken without its provider. */
static void look_at_tcp(struct doctor *d, const struct kfb_scheme *scheme)
{
	struct sockaddr_in here = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err = 0;

	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof(here)) ||
	    listen(fd, 1))
		err = errno;
	if (fd >= 0)
		close(fd);
	if (err)
		doctor_found(d, d->wants_rdma ? DOCTOR_NOTE : DOCTOR_PROBLEM,
			     "ip link set lo up",
			     "TCP does not work on this machine: %s",
			     strerror(err));
	else
		doctor_found(d, DOCTOR_OK, NULL, "%s:// works: by TCP alone",
			     scheme->name);
}

void doctor_check_schemes(struct doctor *d)
{
	const struct kfb_scheme *scheme;
	const char *all = d->check;
	char check[CHECK_BYTES];
	unsigned int i;

	for (i = 0; (scheme = kfb_scheme_at(i)); i++) {
		snprintf(check, sizeof(check), "%s.%s", all, scheme->name);
		d->check = check;
		if (scheme->is_strict)
			look_at_tcp(d, scheme);
		else if (!scheme->is_rdma || d->wants_rdma ||
			 doctor_has_rdma(d))
			look_at_libfabric(d, scheme);
	}
	d->check = all;
}
