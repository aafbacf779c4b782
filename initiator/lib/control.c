// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests that the library waits for.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "codec/kfb_ops.h"

int kfbl_wait_live(struct kfbrick *k)
{
	while (!kfbl_is_live(k)) {
		if (kfbl_is_over(k))
			return kfbl_not_connected(k);
		if (!kfbl_progress(k))
			kfbl_wait(k, KFB_TIME_NEVER);
	}
	return 0;
}

/* What a finished call means for its caller. */
static int call_result(struct kfbrick *k, const struct kfb_initiator_call *call)
{
	const char *name = kfb_op_name(call->req.op);

	switch (call->outcome.kind) {
	case KFB_OUTCOME_TIMEOUT:
		if (!call->session_id)
			return kfbl_fail(k, -ETIMEDOUT,
					 "%s: %s was not sent: the brick has "
					 "not answered earlier requests within "
					 "%u ms",
					 k->url.text, name, k->core.timeout_ms);
		return kfbl_fail(k, -ETIMEDOUT,
				 "%s: no answer to %s within %u ms: its "
				 "outcome is unknown, and it may still be "
				 "carried out: close, and look with list",
				 k->url.text, name, k->core.timeout_ms);
	case KFB_OUTCOME_LOST:
		if (!call->session_id && kfbl_is_over(k))
			return kfbl_not_connected(k);
		if (!call->session_id)
			return kfbl_fail(k, -EINVAL, "%s: %s cannot be sent",
					 k->url.text, name);
		return kfbl_fail(
			k, -ECONNRESET,
			"%s: the connection was lost after %s was "
			"sent: %s; its outcome is unknown: %slook with "
			"list",
			k->url.text, name, kfbl_why(k),
			kfbl_is_over(k) ? "connect again and " : "");
	default:
		return 0;
	}
}

int kfbl_wait_call(struct kfbrick *k, struct kfb_initiator_call *call)
{
	while (!call->is_done) {
		bool any = kfbl_progress(k);

		if (!call->is_done && !(any && !k->is_settled))
			kfbl_wait(k, KFB_TIME_NEVER);
	}
	return call_result(k, call);
}

int kfbl_call(struct kfbrick *k, const struct kfb_request *req,
	      struct kfb_outcome *outcome)
{
	struct kfb_initiator_call call = { .req = *req,
					   .reply = &k->call_reply };
	/* Asking twice does no harm, but a MAP's later page is its session's. */
	bool may_repeat = kfb_op_is(req->op, KFB_OP_RECOMPUTED) &&
			  !(req->op == KFB_OP_MAP && req->u.map.mapping_id);
	int rc;

	if (kfbl_is_over(k))
		return kfbl_not_connected(k);
	do {
		kfb_initiator_call(&k->core, &call);
		rc = kfbl_wait_call(k, &call);
	} while (rc == -ECONNRESET && may_repeat && !kfbl_is_over(k));
	*outcome = call.outcome;
	return rc;
}

int kfbl_request(struct kfbrick *k, const struct kfb_request *req,
		 const char *fmt, ...)
{
	char what[KFBL_ERROR_BYTES / 2];
	struct kfb_outcome outcome;
	int rc = kfbl_call(k, req, &outcome);
	va_list ap;

	if (rc || !outcome.error)
		return rc;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return kfbl_refused(k, &outcome, "%s", what);
}
