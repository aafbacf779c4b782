// SPDX-License-Identifier: BSD-2-Clause
/*
 * Failures in words.
 *
 * Context: the words of a failed connect without a connection are per thread.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "kfb_err.h"

static _Thread_local char thread_error[KFBL_ERROR_BYTES];

const char *kfbrick_error(const struct kfbrick *k)
{
	return k ? k->error : thread_error;
}

int kfbl_fail(struct kfbrick *k, int error, const char *fmt, ...)
{
	char text[KFBL_ERROR_BYTES];
	va_list ap;

	/* Through a copy: an argument may be the old text. */
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(k ? k->error : thread_error, KFBL_ERROR_BYTES, "%s", text);
	return error;
}

/* What a person can do about a refusal. */
static const char *next_step(uint16_t status)
{
	switch (status) {
	case KFB_ST_INVALID:
		return "addresses are multiples of 2 MiB (0x200000), counts "
		       "are at least 1";
	case KFB_ST_DENIED:
		return "ask the brick's administrator for a grant of this "
		       "range to this client";
	case KFB_ST_EXISTS:
		return "list shows what is allocated";
	case KFB_ST_NOT_FOUND:
		return "list shows what exists";
	case KFB_ST_BUSY:
		return "unmap it first; list shows who holds it";
	case KFB_ST_NO_SPACE:
		return "info shows what is free";
	case KFB_ST_STALE:
		return "map again: the brick has restarted";
	case KFB_ST_AGAIN:
	case KFB_ST_SHUTDOWN:
		return "try again later";
	case KFB_ST_LIMIT:
		return "info shows the brick's limits";
	case KFB_ST_IO:
		return "the brick's log says which block is bad";
	default:
		return "the brick's log has more";
	}
}

int kfbl_refused(struct kfbrick *k, const struct kfb_outcome *outcome,
		 const char *fmt, ...)
{
	char what[KFBL_ERROR_BYTES / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return kfbl_fail(k, outcome->error, "%s at %s: %s; %s", what,
			 k->url.text, kfb_status_text(outcome->status),
			 next_step(outcome->status));
}

const char *kfbl_why(const struct kfbrick *k)
{
	/* What the core ends by itself has no words. */
	return *k->lost_why ? k->lost_why : strerror(-k->core.client.error);
}

int kfbl_not_connected(struct kfbrick *k)
{
	if (!k->is_connected)
		return kfbl_fail(k, -ENOTCONN, "%s: not connected",
				 k->url.text);
	return kfbl_fail(k, -ENOTCONN,
			 "%s: the connection was lost before this call: %s; "
			 "close it and connect again",
			 k->url.text, kfbl_why(k));
}
