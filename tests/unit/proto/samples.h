/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages of proto/vectors with what they mean, and one way to decode and
 * encode whatever kind of message it is.
 */
#ifndef KFB_TEST_SAMPLES_H
#define KFB_TEST_SAMPLES_H

#include "codec/kfb_codec.h"

enum sample_kind {
	SAMPLE_HELLO,
	SAMPLE_ACCEPT,
	SAMPLE_REJECT,
	SAMPLE_REQUEST,
	SAMPLE_REPLY,
};

union sample_message {
	struct kfb_hello hello;
	struct kfb_accept accept;
	struct kfb_reject reject;
	struct kfb_request request;
	struct kfb_reply reply;
};

struct sample {
	const char *file; /* in proto/vectors, without .hex */
	enum sample_kind kind;
	union sample_message message;
};

extern const struct sample samples[];
extern const unsigned int n_samples;

/* As kfb_decode_*(); clears *out first, padding too. */
int sample_decode(enum sample_kind kind, const void *buf, __u32 len,
		  union sample_message *out);
/* As kfb_encode_*(). */
int sample_encode(enum sample_kind kind, const union sample_message *message,
		  void *buf, __u32 cap);

/* The bytes of a sample; buf has KFB_REPLY_MAX_BYTES. */
__u32 sample_read(const struct sample *sample, void *buf);

/* Some sample by its file; fails the test when there is none. */
const struct sample *sample_find(const char *file);

#endif
