// SPDX-License-Identifier: BSD-2-Clause
/* One way to open a fabric for programs that speak stcp and other providers. */
#include <string.h>

#include "impl.h"
#include "stcp.h"

static bool is_stcp(const struct fi_fabric_attr *attr)
{
	return attr && attr->prov_name &&
	       strcmp(attr->prov_name, STCP_PROVIDER) == 0;
}

int stcp_choose_getinfo(uint32_t version, const char *node, const char *service,
			uint64_t flags, const struct fi_info *hints,
			struct fi_info **info)
{
	if (hints && is_stcp(hints->fabric_attr))
		return stcp_getinfo(version, node, service, flags, hints, info);
	return fi_getinfo(version, node, service, flags, hints, info);
}

int stcp_choose_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric,
		       void *context)
{
	if (is_stcp(attr))
		return stcp_fabric(attr, fabric, context);
	return fi_fabric(attr, fabric, context);
}
