// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which paths there are, and which of them an interface is.
 *
 * Context: any.
 */
#include <linux/string.h>
#include "kfb_path.h"

static const char *const kfb_paths[KFB_PATH_LAST + 1] = {
	[KFB_PATH_UNKNOWN] = "unknown",	    [KFB_PATH_LOOPBACK] = "loopback",
	[KFB_PATH_WIREGUARD] = "wireguard", [KFB_PATH_RDMA] = "rdma",
	[KFB_PATH_UNTRUSTED] = "untrusted",
};

enum kfb_path kfb_path_of(_Bool is_local, const char *kind)
{
	if (is_local)
		return KFB_PATH_LOOPBACK;
	if (strlen(kind) == strlen(KFB_PATH_TUNNEL) &&
	    !memcmp(kind, KFB_PATH_TUNNEL, strlen(KFB_PATH_TUNNEL)))
		return KFB_PATH_WIREGUARD;
	return KFB_PATH_UNTRUSTED;
}

const char *kfb_path_name(__u32 path)
{
	return kfb_paths[path <= KFB_PATH_LAST ? path : KFB_PATH_UNKNOWN];
}
