// SPDX-License-Identifier: BSD-2-Clause
/*
 * The model's one-sided operations: carried out when posted, completed when
 * polled for.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

int kfbrick_memory_register(struct kfbrick *k, void *addr, size_t len,
			    struct kfbrick_memory **out)
{
	int err = model_enter("register", "%zu", len);

	k->memory = (struct kfbrick_memory){ .addr = addr, .len = len };
	*out = &k->memory;
	return err;
}

int kfbrick_memory_release(struct kfbrick *k, struct kfbrick_memory *memory)
{
	/* The real one would still move bytes to or from it. */
	if (k->n_done)
		abort();
	return model_enter("release", "-");
}

/* A chunk must lie in registered memory and in mapped blocks. */
static int check(struct kfbrick *k, uint64_t va, const uint8_t *buf, size_t len,
		 uint32_t access)
{
	const struct kfbrick_mapping *m = k->state->mappings;
	unsigned int i;

	if (k->n_done == MODEL_DEPTH)
		return -EAGAIN;
	if (buf < k->memory.addr || len > k->memory.len ||
	    (size_t)(buf - k->memory.addr) > k->memory.len - len)
		return -EFAULT;
	for (i = 0; i < MODEL_MAPPINGS; i++) {
		/* By offsets: the end may be that of the address space. */
		uint64_t size = m[i].n_blocks * KFBRICK_BLOCK_BYTES;
		uint64_t offset = va - m[i].first;

		if (!m[i].id || offset >= size || len > size - offset)
			continue;
		return m[i].flags & access ? 0 : -EACCES;
	}
	return -ENXIO;
}

static uint8_t *place(struct kfbrick *k, uint64_t va)
{
	return k->blocks + model_block(va) * KFBRICK_BLOCK_BYTES +
	       va % KFBRICK_BLOCK_BYTES;
}

static void complete(struct kfbrick *k, void *context, int error, size_t len)
{
	k->done[k->n_done++] = (struct kfbrick_completion){
		.context = context,
		.error = error,
		.len = len,
	};
}

int kfbrick_post_read(struct kfbrick *k, uint64_t va, void *buf, size_t len,
		      void *context)
{
	int err = model_enter("post_read", "0x%" PRIx64 " %zu", va, len);

	if (!err)
		err = check(k, va, buf, len, KFBRICK_MAP_RO | KFBRICK_MAP_RW);
	if (err)
		return err;
	memcpy(buf, place(k, va), len);
	complete(k, context, model_enter("read", "0x%" PRIx64, va), len);
	return 0;
}

int kfbrick_post_write(struct kfbrick *k, uint64_t va, const void *buf,
		       size_t len, void *context)
{
	int err = model_enter("post_write", "0x%" PRIx64 " %zu", va, len);

	if (!err)
		err = check(k, va, buf, len, KFBRICK_MAP_RW);
	if (err)
		return err;
	memcpy(place(k, va), buf, len);
	complete(k, context, model_enter("write", "0x%" PRIx64, va), len);
	return 0;
}

int kfbrick_post_flush(struct kfbrick *k, void *context)
{
	int err = model_enter("post_flush", "%u", k->n_done);

	if (err)
		return err;
	k->state->flushes++;
	complete(k, context, model_enter("flush", "-"), 0);
	return 0;
}

/* Everything is over at once: nothing moves later. */
uint64_t kfbrick_moved_bytes(const struct kfbrick *k)
{
	return 0;
}

int kfbrick_poll(struct kfbrick *k, struct kfbrick_completion *out, size_t max,
		 int timeout_ms)
{
	int err = model_enter("poll", "%d", timeout_ms);
	bool reverse = getenv("MODEL_REVERSE");
	unsigned int n = 0;

	if (err)
		return err == -ETIMEDOUT ? 0 : err;
	/* One at a time when reversed, so that the order is seen. */
	while (k->n_done && n < max && (!reverse || !n)) {
		k->n_done--;
		if (reverse) {
			out[n++] = k->done[k->n_done];
			continue;
		}
		out[n++] = k->done[0];
		memmove(k->done, k->done + 1, k->n_done * sizeof(k->done[0]));
	}
	return (int)n;
}
