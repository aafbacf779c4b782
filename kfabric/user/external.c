// SPDX-License-Identifier: BSD-2-Clause
/*
 * stcp as a provider that libfabric loads by itself, for any program:
 * libstcp-fi.so in a folder of FI_PROVIDER_PATH.
 */
#include <inttypes.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>
#include <stdlib.h>

#include "impl.h"
#include "stcp.h"

/* libfabric fills in whose it is, and takes it amiss when that is done. */
static int provider_getinfo(uint32_t version, const char *node,
			    const char *service, uint64_t flags,
			    const struct fi_info *hints, struct fi_info **out)
{
	struct fi_info *info;
	int rc = stcp_getinfo(version, node, service, flags, hints, &info);

	if (rc)
		return rc;
	free(info->fabric_attr->prov_name);
	info->fabric_attr->prov_name = NULL;
	/* As libfabric's tcp has it, for those who say nothing. */
	if (!hints || !hints->domain_attr ||
	    hints->domain_attr->data_progress == FI_PROGRESS_UNSPEC)
		info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->cq_data_size = sizeof(uint64_t);
	rc = stcp_info_add_sources(info, hints ? hints->addr_format
					       : FI_FORMAT_UNSPEC);
	if (rc)
		fi_freeinfo(info);
	else
		*out = info;
	return rc;
}

static void provider_cleanup(void);

static struct fi_provider provider = {
	.version = FI_VERSION(1, 0),
	/* libfabric offers it to no program that asks for a newer interface. */
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = STCP_PROVIDER,
	.getinfo = provider_getinfo,
	.fabric = stcp_fabric,
	.cleanup = provider_cleanup,
};

static void provider_cleanup(void)
{
	uint64_t strays = stcp_strays();

	if (strays)
		FI_INFO(&provider, FI_LOG_EP_CTRL,
			"%" PRIu64 " connections were no requests\n", strays);
}

struct fi_provider *fi_prov_ini(void);

__attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void)
{
	int us;

	if (!fi_param_define(&provider, "busy_poll_us", FI_PARAM_INT,
			     "how long its threads look for more before they "
			     "sleep, microseconds (default: 0)") &&
	    !fi_param_get_int(&provider, "busy_poll_us", &us) && us > 0)
		stcp_set_busy_poll((unsigned int)us);
	return &provider;
}
