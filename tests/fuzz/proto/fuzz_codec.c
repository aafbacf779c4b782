// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decodes anything as every kind of message; what decodes must encode to the
 * same bytes. The first byte of the input picks the kind, so that the corpus
 * stays useful for all of them.
 *
 * Bytes behind a message of private data are ignored by design and are not
 * compared.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/kfb_codec.h"

enum kind {
	KIND_HELLO,
	KIND_ACCEPT,
	KIND_REJECT,
	KIND_REQUEST,
	KIND_REPLY,
	KINDS
};

union message {
	struct kfb_hello hello;
	struct kfb_accept accept;
	struct kfb_reject reject;
	struct kfb_request request;
	struct kfb_reply reply;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int decode(enum kind kind, const void *buf, __u32 len,
		  union message *out)
{
	switch (kind) {
	case KIND_HELLO:
		return kfb_decode_hello(buf, len, &out->hello);
	case KIND_ACCEPT:
		return kfb_decode_accept(buf, len, &out->accept);
	case KIND_REJECT:
		return kfb_decode_reject(buf, len, &out->reject);
	case KIND_REQUEST:
		return kfb_decode_request(buf, len, &out->request);
	default:
		return kfb_decode_reply(buf, len, &out->reply);
	}
}

static int encode(enum kind kind, const union message *message, void *buf,
		  __u32 cap)
{
	switch (kind) {
	case KIND_HELLO:
		return kfb_encode_hello(&message->hello, buf, cap);
	case KIND_ACCEPT:
		return kfb_encode_accept(&message->accept, buf, cap);
	case KIND_REJECT:
		return kfb_encode_reject(&message->reject, buf, cap);
	case KIND_REQUEST:
		return kfb_encode_request(&message->request, buf, cap);
	default:
		return kfb_encode_reply(&message->reply, buf, cap);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static union message message;
	static uint8_t encoded[KFB_REPLY_MAX_BYTES];
	enum kind kind;
	void *copy;
	int len;

	if (size < 1)
		return 0;
	kind = (enum kind)(data[0] % KINDS);
	data++;
	size--;
	/* Exactly as long as the message, so that a read beyond it is seen. */
	copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	memset(&message, 0xa5, sizeof(message));
	memset(encoded, 0x5a, sizeof(encoded));
	if (decode(kind, copy, (__u32)size, &message) == 0) {
		len = encode(kind, &message, encoded, sizeof(encoded));
		if (len < 0 || (size_t)len > size)
			abort();
		if (kind >= KIND_REQUEST && (size_t)len != size)
			abort();
		if (memcmp(encoded, data, (size_t)len))
			abort();
	}
	free(copy);
	return 0;
}
