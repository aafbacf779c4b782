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
#include "session/kfb_refusal.h"

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

int kfbl_refused(struct kfbrick *k, const struct kfb_outcome *outcome,
		 const char *fmt, ...)
{
	char what[KFBL_ERROR_BYTES / 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return kfbl_fail(k, outcome->error, "%s at %s: %s; %s", what,
			 k->url.text,
			 kfb_refusal_why(outcome->op, outcome->error),
			 kfb_refusal_next(outcome->op, outcome->error));
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
