/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the codec's files share with each other and nobody else.
 *
 * Context: any.
 */
#ifndef KFB_CODEC_PRIV_H
#define KFB_CODEC_PRIV_H

#include <linux/types.h>
#include "kfb_codec.h"

#define KFB_HEADER_BYTES ((__u32)sizeof(struct kfb_wire_header))

/**
 * struct kfb_request_form - how the body of an op's request travels
 * @fixed_bytes: the body without its array
 * @element_bytes: one array element, 0 for an op without array
 * @count: elements in a host struct, NULL for an op without array
 * @ok: is the form right? NULL: every value is
 * @get: copies a body of exactly the right or, with an array, of at least the
 *	fixed length; returns 0 or -EBADMSG
 * @put: writes the body; there is room for all of it
 */
struct kfb_request_form {
	__u16 fixed_bytes;
	__u16 element_bytes;
	__u32 (*count)(const struct kfb_request *req);
	_Bool (*ok)(const struct kfb_request *req);
	int (*get)(const __u8 *body, __u32 len, struct kfb_request *req);
	void (*put)(const struct kfb_request *req, __u8 *body);
};

/**
 * struct kfb_reply_form - how the body of an op's good reply travels
 * @fixed_bytes: the body without its array, 0: there is no body
 * @element_bytes: one array element, 0 for a reply without array
 * @count: elements in a host struct, NULL for a reply without array
 * @ok: is the form right? NULL: every value is
 * @get: copies a body of exactly the right or, with an array, of at least the
 *	fixed length; returns 0 or -EBADMSG
 * @put: writes the body; there is room for all of it
 */
struct kfb_reply_form {
	__u16 fixed_bytes;
	__u16 element_bytes;
	__u32 (*count)(const struct kfb_reply *reply);
	_Bool (*ok)(const struct kfb_reply *reply);
	int (*get)(const __u8 *body, __u32 len, struct kfb_reply *reply);
	void (*put)(const struct kfb_reply *reply, __u8 *body);
};

extern const struct kfb_request_form kfb_auth_request_form;
extern const struct kfb_request_form kfb_info_request_form;
extern const struct kfb_request_form kfb_range_request_form;
extern const struct kfb_request_form kfb_map_request_form;
extern const struct kfb_request_form kfb_unmap_request_form;
extern const struct kfb_request_form kfb_list_request_form;
extern const struct kfb_request_form kfb_flush_request_form;
extern const struct kfb_request_form kfb_ping_request_form;
extern const struct kfb_request_form kfb_fence_request_form;
extern const struct kfb_request_form kfb_client_request_form;
extern const struct kfb_request_form kfb_reserve_request_form;

extern const struct kfb_reply_form kfb_auth_reply_form;
extern const struct kfb_reply_form kfb_info_reply_form;
extern const struct kfb_reply_form kfb_map_reply_form;
extern const struct kfb_reply_form kfb_list_reply_form;
extern const struct kfb_reply_form kfb_client_reply_form;
extern const struct kfb_reply_form kfb_reservation_reply_form;
extern const struct kfb_reply_form kfb_event_form;
/* The reply of an error, and of an op that returns nothing. */
extern const struct kfb_reply_form kfb_empty_reply_form;

/* Reserved bytes and padding are. */
_Bool kfb_codec_is_zero(const __u8 *bytes, __u32 len);

/*
 * Copies a name that travels padded with zeros, and ends it with a NUL. Returns 0,
 * or -EBADMSG when it is too long or its padding is not zero.
 */
int kfb_codec_get_name(const __u8 raw[KFB_NAME_MAX], __u8 len,
		       char name[KFB_NAME_MAX + 1]);

/* A header in host form; op as on the wire. */
struct kfb_codec_header {
	__u16 op;
	__u16 status;
	__u32 length_bytes;
	__u16 slot;
	__u32 seq;
	__u16 credits;
};

/*
 * Copies the header and checks its form against the message's len. Returns 0
 * or -EBADMSG; fills *out on success only.
 */
int kfb_codec_get_header(const void *buf, __u32 len,
			 struct kfb_codec_header *out);

/* Writes all KFB_HEADER_BYTES. */
void kfb_codec_put_header(const struct kfb_codec_header *header, void *buf);

#endif
