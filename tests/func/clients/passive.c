// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads and writes a brick whose daemon is stopped by SIGSTOP:
 * passive BRICK CLIENT KEYFILE PID BLOCKS
 *
 * Allocates and maps blocks from address 0, stops the process PID, writes and
 * reads all of them, lets it go on, flushes and gives all back. On a fabric
 * with remote memory access the stopped daemon does not matter; anywhere else
 * the operations do not end. Exit status 0: every byte came back.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "key_file.h"

struct area {
	struct kfbrick *k;
	uint64_t n_blocks;
	size_t bytes;
	uint64_t *out;
	uint64_t *in;
};

static int transfer(struct area *a)
{
	struct kfbrick_memory *out, *in;
	int rc;

	rc = kfbrick_memory_register(a->k, a->out, a->bytes, &out);
	if (rc)
		return rc;
	rc = kfbrick_memory_register(a->k, a->in, a->bytes, &in);
	if (!rc)
		rc = kfbrick_write(a->k, 0, a->out, a->bytes);
	if (!rc)
		rc = kfbrick_read(a->k, 0, a->in, a->bytes);
	if (!rc && memcmp(a->out, a->in, a->bytes))
		rc = -EBADMSG;
	return rc;
}

static int work(struct area *a, pid_t daemon)
{
	struct kfbrick_mapping *mapping;
	int rc;

	rc = kfbrick_alloc(a->k, 0, a->n_blocks);
	if (!rc)
		rc = kfbrick_map(a->k, 0, a->n_blocks,
				 KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
				 &mapping);
	if (rc)
		return rc;
	if (kill(daemon, SIGSTOP))
		return -errno;
	rc = transfer(a);
	(void)kill(daemon, SIGCONT);
	if (!rc)
		rc = kfbrick_flush(a->k);
	if (rc == -EOPNOTSUPP) /* volatile: there is nothing to flush */
		rc = 0;
	if (!rc)
		rc = kfbrick_unmap(a->k, mapping);
	return rc ? rc : kfbrick_free(a->k, 0, a->n_blocks);
}

static int run(const char *const *words, pid_t daemon, uint64_t n_blocks)
{
	uint8_t key[KFBRICK_KEY_BYTES] = { 0 };
	struct kfbrick_config config = { .size = sizeof(config),
					 .brick = words[1],
					 .client = words[2],
					 .key = key };
	struct area a = { .n_blocks = n_blocks,
			  .bytes = n_blocks * KFBRICK_BLOCK_BYTES };
	int rc = key_file_read(words[3], key);

	a.out = malloc(a.bytes);
	a.in = calloc(1, a.bytes);
	if (!rc && (!a.out || !a.in))
		rc = -ENOMEM;
	for (size_t i = 0; !rc && i < a.bytes / sizeof(*a.out); i++)
		a.out[i] = i * UINT64_C(0x9e3779b97f4a7c15) + 1;
	if (!rc)
		rc = kfbrick_connect(&config, &a.k);
	if (!rc)
		rc = work(&a, daemon);
	if (rc)
		fprintf(stderr, "passive: %s: %s\n", strerror(-rc),
			kfbrick_error(a.k));
	kfbrick_close(a.k);
	free(a.out);
	free(a.in);
	return rc;
}

int main(int argc, char **argv)
{
	unsigned long daemon, n_blocks;

	if (argc != 6) {
		fprintf(stderr, "usage: %s BRICK CLIENT KEYFILE PID BLOCKS\n",
			argv[0]);
		return 2;
	}
	daemon = strtoul(argv[4], NULL, 10);
	n_blocks = strtoul(argv[5], NULL, 10);
	if (!daemon || daemon > INT32_MAX || !n_blocks || n_blocks > 512)
		return 2;
	return run((const char *const *)argv, (pid_t)daemon, n_blocks) ? 1 : 0;
}
