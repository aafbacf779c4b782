// SPDX-License-Identifier: BSD-2-Clause
/*
 * Writes a range through libkfbrick, makes it durable, reads it back and
 * compares: what brickctl does with eight chunks in flight, with the
 * synchronous calls.
 *
 *   slow-copy URL CLIENT KEY-FILE VA BYTES RECONNECT-MS
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/lib/kfbrick.h"
#include "key_file.h"

#define PART_BYTES (4U << 20)

static struct kfbrick *k;

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, kfbrick_error(k));
	return 1;
}

/* No two words of a range are the same. */
static void fill(uint64_t *words, size_t bytes, uint64_t va)
{
	size_t i;

	for (i = 0; i < bytes / sizeof(*words); i++)
		words[i] = (va + i * sizeof(*words)) * 0x9e3779b97f4a7c15ULL;
}

static size_t part_of(uint64_t done, uint64_t bytes)
{
	return bytes - done < PART_BYTES ? bytes - done : PART_BYTES;
}

static int write_all(uint64_t va, uint64_t bytes, uint64_t *part)
{
	uint64_t done;

	for (done = 0; done < bytes; done += PART_BYTES) {
		fill(part, part_of(done, bytes), va + done);
		if (kfbrick_write(k, va + done, part, part_of(done, bytes)))
			return fail("write");
	}
	return kfbrick_flush(k) ? fail("flush") : 0;
}

static int compare_all(uint64_t va, uint64_t bytes, uint64_t *part,
		       uint64_t *expected)
{
	uint64_t done;

	for (done = 0; done < bytes; done += PART_BYTES) {
		size_t len = part_of(done, bytes);

		memset(part, 0, len);
		if (kfbrick_read(k, va + done, part, len))
			return fail("read");
		fill(expected, len, va + done);
		if (memcmp(part, expected, len) != 0) {
			fprintf(stderr, "other bytes at 0x%" PRIx64 "\n",
				va + done);
			return 1;
		}
	}
	return 0;
}

static int copy(uint64_t va, uint64_t bytes)
{
	uint64_t first = va - va % KFBRICK_BLOCK_BYTES;
	uint64_t end = va + bytes + KFBRICK_BLOCK_BYTES - 1;
	uint64_t n_blocks =
		end / KFBRICK_BLOCK_BYTES - first / KFBRICK_BLOCK_BYTES;
	struct kfbrick_mapping *mapping;
	uint64_t *parts = malloc(2 * (size_t)PART_BYTES);
	int rc;

	if (!parts)
		return 1;
	rc = kfbrick_map(k, first, n_blocks,
			 KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE, &mapping)
		     ? fail("map")
		     : 0;
	if (!rc)
		rc = write_all(va, bytes, parts);
	if (!rc)
		rc = compare_all(va, bytes, parts,
				 parts + PART_BYTES / sizeof(*parts));
	if (!rc && kfbrick_unmap(k, mapping))
		rc = fail("unmap");
	free(parts);
	return rc;
}

int main(int argc, char **argv)
{
	struct kfbrick_config config = { .size = sizeof(config) };
	uint8_t key[KFBRICK_KEY_BYTES];
	int rc;

	if (argc != 7 || key_file_read(argv[3], key))
		return 2;
	config.brick = argv[1];
	config.client = argv[2];
	config.key = key;
	config.allow_untrusted_tcp = true;
	config.reconnect_ms = (uint32_t)strtoul(argv[6], NULL, 0);
	rc = kfbrick_connect(&config, &k) ? fail("connect")
					  : copy(strtoull(argv[4], NULL, 0),
						 strtoull(argv[5], NULL, 0));
	kfbrick_close(k);
	return rc;
}
