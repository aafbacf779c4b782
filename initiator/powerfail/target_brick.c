// SPDX-License-Identifier: BSD-2-Clause
/* Blocks of a brick, through libkfbrick: see target_brick.h. */
#include "target_brick.h"

#include <errno.h>
#include <string.h>

#include "kfbrick.h"

#define BLOCK_SHIFT 21

static int say_brick_failure(struct target *t, int rc, const char *what)
{
	return rc ? target_fail(t, rc, what, kfbrick_error(t->k)) : 0;
}

static int connect_brick(struct target *t, const struct target_name *name)
{
	uint8_t key[KFBRICK_KEY_BYTES];
	struct kfbrick_config config = { .size = sizeof(config),
					 .brick = name->brick,
					 .client = name->client,
					 .key = name->client ? key : NULL,
					 .allow_untrusted_tcp =
						 name->allow_untrusted_tcp };
	int rc = 0;

	if (name->client && !name->key_file)
		return target_fail(t, -EINVAL, name->client,
				   "a client needs --key-file");
	if (name->client)
		rc = kfbrick_key_read(name->key_file, key);
	if (rc)
		return target_fail(t, rc, name->client, kfbrick_error(NULL));
	rc = kfbrick_connect(&config, &t->k);
	explicit_bzero(key, sizeof(key));
	return say_brick_failure(t, rc, name->brick);
}

int target_brick_open(struct target *t, const struct target_name *name,
		      uint64_t offset, const uint64_t *size, bool write)
{
	unsigned int flags =
		KFBRICK_MAP_SHARED | (write ? KFBRICK_MAP_RW : KFBRICK_MAP_RO);
	struct kfbrick_mapping *mapping;
	uint64_t block, last, va;
	int rc;

	if (!*size)
		return target_fail(t, -EINVAL, name->brick,
				   "a brick needs --size");
	rc = connect_brick(t, name);
	if (rc)
		return rc;
	last = (offset + *size - 1) >> BLOCK_SHIFT;
	for (block = offset >> BLOCK_SHIFT; !rc && block <= last; block++) {
		va = block << BLOCK_SHIFT;
		if (write)
			rc = kfbrick_alloc(t->k, va, 1);
		if (!rc || rc == -EEXIST)
			rc = kfbrick_map(t->k, va, 1, flags, &mapping);
	}
	return say_brick_failure(t, rc, name->brick);
}

void target_brick_close(struct target *t)
{
	kfbrick_close(t->k);
	t->k = NULL;
}

int target_brick_read(struct target *t, uint64_t at, void *buf, size_t len)
{
	return say_brick_failure(t, kfbrick_read(t->k, at, buf, len), "read");
}

/*
 * The library has words for a call that failed, and none for what a completion
 * brings: of a lost connection the next poll has them.
 */
static int wait_durable(struct target *t, const char *what)
{
	struct kfbrick_completion done, none;
	int rc = kfbrick_poll(t->k, &done, 1, -1);

	if (rc < 0)
		return say_brick_failure(t, rc, what);
	rc = done.error;
	if (rc == -ECONNRESET && kfbrick_poll(t->k, &none, 1, 0) == rc)
		return say_brick_failure(t, rc, what);
	return rc ? target_fail(t, rc, what, strerror(-rc)) : 0;
}

int target_brick_write(struct target *t, uint64_t at, const void *buf,
		       size_t len, bool durable)
{
	const char *what = durable ? "durable write" : "write";
	struct kfbrick_memory *memory;
	int rc;

	if (!durable)
		return say_brick_failure(t, kfbrick_write(t->k, at, buf, len),
					 what);
	rc = kfbrick_memory_register(t->k, (void *)(uintptr_t)buf, len,
				     &memory);
	if (rc)
		return say_brick_failure(t, rc, what);
	rc = kfbrick_post_write_durable(t->k, at, buf, len, NULL);
	rc = rc ? say_brick_failure(t, rc, what) : wait_durable(t, what);
	(void)kfbrick_memory_release(t->k, memory);
	return rc;
}

int target_brick_flush(struct target *t)
{
	return say_brick_failure(t, kfbrick_flush(t->k), "flush");
}
