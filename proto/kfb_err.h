/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wire status codes, their errno and their sentence. The numbers are stable
 * for ever; new ones are added at the end.
 */
#ifndef KFB_ERR_H
#define KFB_ERR_H

#include <linux/types.h>

enum kfb_status {
	KFB_ST_OK = 0,
	KFB_ST_INVALID = 1, /* EINVAL: alignment, overflow, n = 0, bad flags */
	KFB_ST_DENIED = 2, /* EACCES: outside the grants, or before AUTH */
	KFB_ST_EXISTS = 3, /* EEXIST: (partly) allocated already */
	KFB_ST_NOT_FOUND = 4, /* ENOENT: (partly) not allocated, no such map */
	KFB_ST_BUSY = 5, /* EBUSY: mapped, or a conflicting mapping */
	KFB_ST_NO_SPACE = 6, /* ENOSPC */
	KFB_ST_STALE = 7, /* ESTALE: mapping of another instance, old cookie */
	KFB_ST_AGAIN = 8, /* EAGAIN: try again later */
	KFB_ST_NOT_SUPPORTED = 9, /* EOPNOTSUPP */
	KFB_ST_IO = 10, /* EIO: the medium failed */
	KFB_ST_KEY_REJECTED = 11, /* EKEYREJECTED: authentication failed */
	KFB_ST_VERSION = 12, /* EPROTONOSUPPORT: no common version */
	KFB_ST_LIMIT = 13, /* EDQUOT: a bound of this brick is reached */
	KFB_ST_SHUTDOWN = 14, /* ESHUTDOWN: the brick is stopping */
	KFB_ST_NO_MEMORY = 15, /* ENOMEM: registration or memory failed */
	KFB_ST_MALFORMED = 16, /* EBADMSG: only in a REJECT */
	KFB_ST_FENCED = 17, /* EKEYREVOKED: only of AUTH */
	KFB_ST_CONFLICT = 18, /* EBADE: a persistent reservation forbids it */
	KFB_ST_LAST = KFB_ST_CONFLICT
};

/**
 * kfb_status_to_errno - what a status means to a program
 * @status: from the wire, any value
 *
 * Context: any.
 * Return: 0 for KFB_ST_OK, a negative errno, -EPROTO for an unknown status.
 */
int kfb_status_to_errno(__u16 status);

/**
 * kfb_status_from_errno - the status that tells a client of an error
 * @error: 0 or a negative errno
 *
 * Context: any.
 * Return: the status; KFB_ST_IO for an errno without one of its own.
 */
enum kfb_status kfb_status_from_errno(int error);

/**
 * kfb_status_text - one sentence for people
 * @status: from the wire, any value
 *
 * Context: any.
 * Return: a constant string without a full stop.
 */
const char *kfb_status_text(__u16 status);

#endif
