// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * HELLO, ACCEPT and REJECT: the private data of a connection's start.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_codec.h"
#include "../kfb_endian.h"
#include "../kfb_err.h"

static _Bool kfb_private_hello_ok(const struct kfb_hello *hello)
{
	if (hello->version_min == 0 || hello->version_min > hello->version_max)
		return 0;
	/* A further queue joins a session that exists. */
	return hello->queue == 0 || hello->session_id != 0;
}

int kfb_encode_hello(const struct kfb_hello *hello, void *buf, __u32 cap)
{
	struct kfb_wire_hello w;

	if (!kfb_private_hello_ok(hello))
		return -EINVAL;
	if (cap < sizeof(w))
		return -ENOSPC;
	memset(&w, 0, sizeof(w));
	kfb_put_le32(&w.magic, KFB_MAGIC_HELLO);
	w.version_min = hello->version_min;
	w.version_max = hello->version_max;
	kfb_put_le16(&w.queue, hello->queue);
	kfb_put_le32(&w.features, hello->features);
	kfb_put_le64_split(&w.session_lo, &w.session_hi, hello->session_id);
	kfb_put_le32(&w.join_counter, hello->join_counter);
	kfb_put_le16(&w.credits, hello->credits);
	memcpy(w.proof, hello->proof, sizeof(w.proof));
	memcpy(buf, &w, sizeof(w));
	return (int)sizeof(w);
}

int kfb_decode_hello(const void *buf, __u32 len, struct kfb_hello *out)
{
	struct kfb_wire_hello w;
	struct kfb_hello hello;

	if (len < sizeof(w))
		return -EBADMSG;
	memcpy(&w, buf, sizeof(w));
	if (kfb_get_le32(&w.magic) != KFB_MAGIC_HELLO ||
	    kfb_get_le16(&w.reserved))
		return -EBADMSG;
	memset(&hello, 0, sizeof(hello));
	hello.version_min = w.version_min;
	hello.version_max = w.version_max;
	hello.queue = kfb_get_le16(&w.queue);
	hello.features = kfb_get_le32(&w.features);
	hello.session_id = kfb_get_le64_split(&w.session_lo, &w.session_hi);
	hello.join_counter = kfb_get_le32(&w.join_counter);
	hello.credits = kfb_get_le16(&w.credits);
	memcpy(hello.proof, w.proof, sizeof(hello.proof));
	if (!kfb_private_hello_ok(&hello))
		return -EBADMSG;
	*out = hello;
	return 0;
}

static _Bool kfb_private_accept_ok(const struct kfb_accept *accept)
{
	if (accept->version == 0 || accept->features & ~KFB_FEATURES_V1)
		return 0;
	if (accept->credits < KFB_CREDITS_MIN ||
	    accept->credits > KFB_CREDITS_MAX)
		return 0;
	if (accept->req_max_bytes != KFB_REQ_MAX_BYTES ||
	    accept->reply_max_bytes != KFB_REPLY_MAX_BYTES)
		return 0;
	return accept->session_id != 0 && accept->instance_id != 0;
}

int kfb_encode_accept(const struct kfb_accept *accept, void *buf, __u32 cap)
{
	struct kfb_wire_accept w;

	if (!kfb_private_accept_ok(accept))
		return -EINVAL;
	if (cap < sizeof(w))
		return -ENOSPC;
	memset(&w, 0, sizeof(w));
	kfb_put_le32(&w.magic, KFB_MAGIC_ACCEPT);
	w.version = accept->version;
	kfb_put_le16(&w.credits, accept->credits);
	kfb_put_le32(&w.features, accept->features);
	kfb_put_le16(&w.req_max_bytes, accept->req_max_bytes);
	kfb_put_le16(&w.reply_max_bytes, accept->reply_max_bytes);
	kfb_put_le64_split(&w.session_lo, &w.session_hi, accept->session_id);
	kfb_put_le64_split(&w.instance_lo, &w.instance_hi, accept->instance_id);
	memcpy(w.proof, accept->proof, sizeof(w.proof));
	memcpy(buf, &w, sizeof(w));
	return (int)sizeof(w);
}

int kfb_decode_accept(const void *buf, __u32 len, struct kfb_accept *out)
{
	struct kfb_wire_accept w;
	struct kfb_accept accept;

	if (len < sizeof(w))
		return -EBADMSG;
	memcpy(&w, buf, sizeof(w));
	if (kfb_get_le32(&w.magic) != KFB_MAGIC_ACCEPT || w.reserved0)
		return -EBADMSG;
	memset(&accept, 0, sizeof(accept));
	accept.version = w.version;
	accept.credits = kfb_get_le16(&w.credits);
	accept.features = kfb_get_le32(&w.features);
	accept.req_max_bytes = kfb_get_le16(&w.req_max_bytes);
	accept.reply_max_bytes = kfb_get_le16(&w.reply_max_bytes);
	accept.session_id = kfb_get_le64_split(&w.session_lo, &w.session_hi);
	accept.instance_id = kfb_get_le64_split(&w.instance_lo, &w.instance_hi);
	memcpy(accept.proof, w.proof, sizeof(accept.proof));
	if (!kfb_private_accept_ok(&accept))
		return -EBADMSG;
	*out = accept;
	return 0;
}

static _Bool kfb_private_reject_ok(const struct kfb_reject *reject)
{
	return reject->status != KFB_ST_OK && reject->version_min != 0 &&
	       reject->version_min <= reject->version_max;
}

int kfb_encode_reject(const struct kfb_reject *reject, void *buf, __u32 cap)
{
	struct kfb_wire_reject w;

	if (!kfb_private_reject_ok(reject))
		return -EINVAL;
	if (cap < sizeof(w))
		return -ENOSPC;
	memset(&w, 0, sizeof(w));
	kfb_put_le32(&w.magic, KFB_MAGIC_REJECT);
	kfb_put_le16(&w.status, reject->status);
	w.version_min = reject->version_min;
	w.version_max = reject->version_max;
	kfb_put_le32(&w.retry_after_ms, reject->retry_after_ms);
	memcpy(buf, &w, sizeof(w));
	return (int)sizeof(w);
}

int kfb_decode_reject(const void *buf, __u32 len, struct kfb_reject *out)
{
	struct kfb_wire_reject w;
	struct kfb_reject reject;

	if (len < sizeof(w))
		return -EBADMSG;
	memcpy(&w, buf, sizeof(w));
	if (kfb_get_le32(&w.magic) != KFB_MAGIC_REJECT)
		return -EBADMSG;
	reject.status = kfb_get_le16(&w.status);
	reject.version_min = w.version_min;
	reject.version_max = w.version_max;
	reject.retry_after_ms = kfb_get_le32(&w.retry_after_ms);
	if (!kfb_private_reject_ok(&reject))
		return -EBADMSG;
	*out = reject;
	return 0;
}
