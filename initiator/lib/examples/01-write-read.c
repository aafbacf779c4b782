// SPDX-License-Identifier: BSD-2-Clause
/*
 * 01: allocate a block, map it, write, make it durable, read back, clean up.
 *
 * Usage: 01-write-read BRICK CLIENT KEY-FILE VA
 *        01-write-read tcp://127.0.0.1 alice alice.key 0x40000000
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfbrick.h"
#include "key.h"

static int write_and_read(struct kfbrick *k, uint64_t va)
{
	static const char text[] = "written one-sidedly, without the brick";
	char back[sizeof(text)];
	int rc;

	rc = kfbrick_write(k, va + 4096, text, sizeof(text));
	if (rc)
		return rc;

	/* Now it has arrived. After the flush it survives power loss. */
	rc = kfbrick_flush(k);
	if (rc == -EOPNOTSUPP)
		puts("this brick is volatile: nothing to flush to");
	else if (rc)
		return rc;

	rc = kfbrick_read(k, va + 4096, back, sizeof(back));
	if (rc)
		return rc;
	if (memcmp(text, back, sizeof(text)))
		return -EIO;
	printf("read back at 0x%" PRIx64 ": %s\n", va + 4096, back);
	return 0;
}

/* Allocated blocks stay when we leave; this one is only an example. */
static int use_a_block(struct kfbrick *k, uint64_t va)
{
	struct kfbrick_mapping *mapping;
	int rc;
	int undo;

	rc = kfbrick_alloc(k, va, 1);
	if (rc)
		return rc;
	rc = kfbrick_map(k, va, 1, KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
			 &mapping);
	if (!rc) {
		rc = write_and_read(k, va);
		undo = kfbrick_unmap(k, mapping);
		if (!rc)
			rc = undo;
	}
	undo = kfbrick_free(k, va, 1);
	return rc ? rc : undo;
}

int main(int argc, char **argv)
{
	struct kfbrick_config config = { .size = sizeof(config) };
	uint8_t key[KFBRICK_KEY_BYTES];
	struct kfbrick *k;
	int rc;

	if (argc != 5) {
		fprintf(stderr, "usage: %s BRICK CLIENT KEY-FILE VA\n",
			argv[0]);
		return 2;
	}
	if (read_key(argv[3], key)) {
		fprintf(stderr, "%s: no key in it\n", argv[3]);
		return 2;
	}
	config.brick = argv[1];
	config.client = argv[2];
	config.key = key;
	rc = kfbrick_connect(&config, &k);
	if (!rc)
		rc = use_a_block(k, strtoull(argv[4], NULL, 0));
	if (rc)
		fprintf(stderr, "%s\n", kfbrick_error(k));
	kfbrick_close(k);
	return rc ? 1 : 0;
}
