// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of wire status codes.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include "kfb_err.h"

struct status_entry {
	int error;
	const char *text;
};

static const struct status_entry kfb_statuses[KFB_ST_LAST + 1] = {
	[KFB_ST_OK] = {
		0,
		"success",
	},
	[KFB_ST_INVALID] = {
		-EINVAL,
		"the address is not aligned, the range is empty or leaves "
		"the address space, or the flags do not go together",
	},
	[KFB_ST_DENIED] = {
		-EACCES,
		"the range is outside this client's grants, the client has not "
		"authenticated, or it is in a group and has to map shared",
	},
	[KFB_ST_EXISTS] = {
		-EEXIST,
		"a block of the range is allocated already",
	},
	[KFB_ST_NOT_FOUND] = {
		-ENOENT,
		"a block of the range is not allocated, or there is no "
		"such mapping",
	},
	[KFB_ST_BUSY] = {
		-EBUSY,
		"blocks of the range are mapped: by somebody else, or by this "
		"client in a session whose lease is not over",
	},
	[KFB_ST_NO_SPACE] = {
		-ENOSPC,
		"the brick has no space left",
	},
	[KFB_ST_STALE] = {
		-ESTALE,
		"the mapping or the request belongs to an earlier "
		"instance or session",
	},
	[KFB_ST_AGAIN] = {
		-EAGAIN,
		"the brick cannot do it now",
	},
	[KFB_ST_NOT_SUPPORTED] = {
		-EOPNOTSUPP,
		"the brick does not support this operation",
	},
	[KFB_ST_IO] = {
		-EIO,
		"the medium failed",
	},
	[KFB_ST_KEY_REJECTED] = {
		-EKEYREJECTED,
		"authentication failed",
	},
	[KFB_ST_VERSION] = {
		-EPROTONOSUPPORT,
		"client and brick have no protocol version in common",
	},
	[KFB_ST_LIMIT] = {
		-EDQUOT,
		"a limit of this brick is reached",
	},
	[KFB_ST_SHUTDOWN] = {
		-ESHUTDOWN,
		"the brick is shutting down",
	},
	[KFB_ST_NO_MEMORY] = {
		-ENOMEM,
		"the brick has no memory left, or could not register it",
	},
	[KFB_ST_MALFORMED] = {
		-EBADMSG,
		"the message was malformed",
	},
	[KFB_ST_FENCED] = {
		-EKEYREVOKED,
		"this client is fenced: the brick keeps it out until it is "
		"admitted again",
	},
	[KFB_ST_CONFLICT] = {
		-EBADE,
		"a persistent reservation of the range is in the way, or the "
		"client has not registered that key",
	},
};

int kfb_status_to_errno(__u16 status)
{
	if (status > KFB_ST_LAST)
		return -EPROTO;
	return kfb_statuses[status].error;
}

enum kfb_status kfb_status_from_errno(int error)
{
	unsigned int status;

	for (status = 0; status <= KFB_ST_LAST; status++)
		if (kfb_statuses[status].error == error)
			return (enum kfb_status)status;
	return KFB_ST_IO;
}

const char *kfb_status_text(__u16 status)
{
	if (status > KFB_ST_LAST)
		return "a status this version does not know";
	return kfb_statuses[status].text;
}
