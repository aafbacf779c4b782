// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: texts of error numbers, for logs.
 */
#include <linux/export.h>
#include <linux/kernel.h>

#include "core.h"

static const struct {
	int err;
	const char *text;
} kfi_error_texts[] = {
	{ 0, "success" },
	{ EINTR, "interrupted" },
	{ EIO, "input/output error" },
	{ E2BIG, "too many segments" },
	{ EAGAIN, "try again" },
	{ ENOMEM, "out of memory" },
	{ EACCES, "remote access refused" },
	{ EBUSY, "busy" },
	{ EEXIST, "exists already" },
	{ ENODEV, "device gone" },
	{ EINVAL, "invalid argument" },
	{ ENOSPC, "no space" },
	{ ENOSYS, "no such function" },
	{ ENODATA, "nothing fits" },
	{ EMSGSIZE, "too long" },
	{ EOPNOTSUPP, "not supported" },
	{ EADDRINUSE, "address in use" },
	{ EADDRNOTAVAIL, "no such address" },
	{ ECONNABORTED, "connection aborted" },
	{ ECONNRESET, "connection reset" },
	{ ECONNREFUSED, "connection refused" },
	{ ENOTCONN, "not connected" },
	{ ENOBUFS, "peer has no receive posted" },
	{ ETIMEDOUT, "timed out" },
	{ EHOSTUNREACH, "host unreachable" },
	{ ENETUNREACH, "network unreachable" },
	{ ECANCELED, "canceled" },
	{ EREMOTEIO, "error at the peer" },
	{ FI_EOTHER, "provider error" },
	{ FI_ETOOSMALL, "buffer too small" },
	{ FI_EOPBADSTATE, "wrong state" },
	{ FI_EAVAIL, "error entry available" },
	{ FI_EBADFLAGS, "unknown flag" },
	{ FI_ENOEQ, "no event queue bound" },
	{ FI_EDOMAIN, "different domains" },
	{ FI_ENOCQ, "no completion queue bound" },
	{ FI_ETRUNC, "message truncated" },
	{ FI_ENOAV, "no address vector bound" },
};

const char *kfabric_strerror(int errnum)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kfi_error_texts); i++)
		if (kfi_error_texts[i].err == abs(errnum))
			return kfi_error_texts[i].text;
	return "unknown error";
}
EXPORT_SYMBOL_GPL(kfabric_strerror);
