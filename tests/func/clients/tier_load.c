// SPDX-License-Identifier: BSD-2-Clause
/*
 * A client that keeps more blocks than its brick has memory for:
 * tier-load BRICK CLIENT KEYFILE FIRST BLOCKS SEED RECONNECT_MS
 *
 * Maps runs of its blocks at random, writes whole blocks and flushes, reads
 * blocks back, frees some and allocates them anew. Of every block it keeps the
 * SHA-256. When the brick is lost it connects again and reads every block; one
 * whose write was cut short may hold old and new bytes, for a stream is cut
 * anywhere; any other must be what its sum says. Prints "verified K" for each time that all were right; ends
 * with a last verification when its standard input ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "initiator/lib/kfbrick.h"
#include "key_file.h"

#define BLOCK	      KFBRICK_BLOCK_BYTES
#define BLOCKS_MAX    1024U
#define RUN_MAX	      3U
#define MAYBE_MAX     32U
#define CONNECT_MS    60000
#define PAUSE_MS      20
#define TIMEOUT_MS    20000
#define SESSION_STEPS 8 /* then another session: quarantines end */

enum known {
	ABSENT,
	SURE, /* it is what its sum says */
	TORN, /* each byte is of one of the generations that it may be */
	OPEN_ALLOC, /* a lost ALLOC or FREE: there or not */
};

/*
 * struct block - what is known of one
 * @generation: the last one that was certain, 0: zeros
 * @maybe: those that were written since, perhaps in part
 */
struct block {
	enum known known;
	uint32_t generation;
	unsigned int n_maybe;
	uint32_t maybe[MAYBE_MAX];
	uint8_t sum[crypto_hash_sha256_BYTES];
};

struct load {
	struct kfbrick_config config;
	uint8_t key[KFBRICK_KEY_BYTES];
	struct kfbrick *k;
	uint64_t first; /* block number */
	unsigned int n;
	unsigned int seed;
	unsigned int verified;
	uint32_t generations;
	uint64_t instance_id;
	struct block blocks[BLOCKS_MAX];
	uint8_t data[RUN_MAX][BLOCK];
	uint8_t other[BLOCK];
	uint8_t is_known[BLOCK]; /* bytes: 1 or 0 */
};

static struct load l;

static bool is_lost(int rc)
{
	return rc == -ECONNRESET || rc == -ENOTCONN || rc == -ETIMEDOUT ||
	       rc == -ESHUTDOWN || rc == -ECONNREFUSED || rc == -ECANCELED;
}

static unsigned int roll(unsigned int n)
{
	return (unsigned int)rand_r(&l.seed) % n;
}

static uint64_t va_of(unsigned int i)
{
	return (l.first + i) * BLOCK;
}

static int wrong(unsigned int i, const char *what)
{
	fprintf(stderr, "tier-load %s: block 0x%" PRIx64 ": %s\n",
		l.config.client, va_of(i), what);
	return -EUCLEAN;
}

/* The bytes of a block's generation: like no other's. */
static void make(uint8_t *to, unsigned int i, uint32_t generation)
{
	uint8_t key[crypto_stream_chacha20_KEYBYTES] = { 0 };
	uint8_t nonce[crypto_stream_chacha20_NONCEBYTES] = { 0 };
	uint64_t va = va_of(i);

	if (!generation) {
		memset(to, 0, BLOCK);
		return;
	}
	memcpy(key, &va, sizeof(va));
	memcpy(nonce, &generation, sizeof(generation));
	crypto_stream_chacha20(to, BLOCK, nonce, key);
}

static void know(unsigned int i, uint32_t generation, const uint8_t *data)
{
	struct block *b = &l.blocks[i];

	b->known = SURE;
	b->n_maybe = 0;
	b->generation = generation;
	crypto_hash_sha256(b->sum, data, BLOCK);
}

/* Notes which bytes may be of a generation. */
static void match(const uint8_t *data, unsigned int i, uint32_t generation)
{
	make(l.other, i, generation);
	for (size_t at = 0; at < BLOCK; at++)
		if (data[at] == l.other[at])
			l.is_known[at] = 1;
}

static bool is_mixture(const uint8_t *data, unsigned int i)
{
	const struct block *b = &l.blocks[i];

	memset(l.is_known, 0, sizeof(l.is_known));
	match(data, i, b->generation);
	for (unsigned int m = 0; m < b->n_maybe; m++)
		match(data, i, b->maybe[m]);
	return !memchr(l.is_known, 0, sizeof(l.is_known));
}

static int check_data(unsigned int i, const uint8_t *data)
{
	struct block *b = &l.blocks[i];
	uint8_t sum[sizeof(b->sum)];

	crypto_hash_sha256(sum, data, BLOCK);
	if (b->known == SURE)
		return memcmp(sum, b->sum, sizeof(sum))
			       ? wrong(i, "not what was written")
			       : 0;
	return is_mixture(data, i) ? 0 : wrong(i, "neither old nor new");
}

static int write_run(unsigned int first, unsigned int n)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++) {
		struct block *b = &l.blocks[first + i];

		if (b->n_maybe == MAYBE_MAX)
			return wrong(first + i, "never left in peace");
		b->maybe[b->n_maybe++] = ++l.generations;
		b->known = TORN;
		make(l.data[i], first + i, l.generations);
		rc = kfbrick_write(l.k, va_of(first + i), l.data[i], BLOCK);
	}
	if (!rc)
		rc = kfbrick_flush(l.k);
	/* In memory there is nothing to flush; what it lost is read again. */
	if (rc == -EIO)
		return -ECONNRESET;
	return rc == -EOPNOTSUPP ? 0 : rc;
}

/* UNMAP came after the writes, so all of them are there. */
static void written(unsigned int first, unsigned int n)
{
	for (unsigned int i = first; i < first + n; i++)
		know(i, l.blocks[i].maybe[l.blocks[i].n_maybe - 1],
		     l.data[i - first]);
}

static int read_run(unsigned int first, unsigned int n)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++) {
		rc = kfbrick_read(l.k, va_of(first + i), l.data[0], BLOCK);
		if (!rc)
			rc = check_data(first + i, l.data[0]);
	}
	return rc;
}

/*
 * The session before, which was closed on its way back to the brick and could not say
 * so, has what it had mapped until its lease is over.
 */
static int map_run(unsigned int first, unsigned int n, bool write,
		   struct kfbrick_mapping **m)
{
	unsigned int flags = KFBRICK_MAP_EXCLUSIVE |
			     (write ? KFBRICK_MAP_RW : KFBRICK_MAP_RO);
	int waited = 0, rc;

	do {
		rc = kfbrick_map(l.k, va_of(first), n, flags, m);
		if (rc != -EBUSY)
			return rc;
		poll(NULL, 0, PAUSE_MS);
		waited += PAUSE_MS;
	} while (waited < CONNECT_MS);
	return rc;
}

static int use(unsigned int first, unsigned int n, bool write)
{
	struct kfbrick_mapping *m;
	int rc;

	rc = map_run(first, n, write, &m);
	if (rc)
		return rc;
	rc = write ? write_run(first, n) : read_run(first, n);
	if (!rc)
		rc = kfbrick_unmap(l.k, m);
	if (!rc && write)
		written(first, n);
	return rc;
}

static int connect_again(void)
{
	int waited = 0, rc;

	do {
		kfbrick_close(l.k);
		l.k = NULL;
		rc = kfbrick_connect(&l.config, &l.k);
		if (!rc)
			return 0;
		/* The brick is being started again. */
		poll(NULL, 0, PAUSE_MS);
		waited += PAUSE_MS;
	} while (waited < CONNECT_MS);
	return rc;
}

/* A torn block is written anew, so that its sum is known again. */
static int settle(unsigned int i)
{
	int rc = use(i, 1, false);

	if (!rc && l.blocks[i].known == TORN)
		rc = use(i, 1, true);
	if (rc != -EAGAIN)
		return rc;
	rc = connect_again();
	return rc ? rc : -ECONNRESET;
}

static int is_there(unsigned int i, bool *there)
{
	struct kfbrick_extent ext;
	uint64_t cursor = va_of(i);
	int n = kfbrick_list(l.k, KFBRICK_LIST_ALLOCATED, &cursor, &ext, 1,
			     NULL);

	*there = n > 0 && ext.va <= va_of(i) &&
		 va_of(i) - ext.va < ext.n_blocks * BLOCK;
	return n < 0 ? n : 0;
}

static int verify(void)
{
	struct kfbrick_info info = { .size = sizeof(info) };
	unsigned int i;
	bool there;
	int rc = 0;

	for (i = 0; i < l.n && !rc; i++) {
		struct block *b = &l.blocks[i];

		rc = is_there(i, &there);
		if (rc)
			return rc;
		if (b->known == OPEN_ALLOC) {
			/* Freed or not: its next life begins with zeros. */
			rc = there ? kfbrick_free(l.k, va_of(i), 1) : 0;
			if (!rc)
				b->known = ABSENT;
		} else if (there != (b->known != ABSENT)) {
			rc = wrong(i, there ? "was freed" : "is gone");
		} else if (there) {
			rc = settle(i);
		}
		/* Our own quarantine must not fill the brick. */
		if (!rc && i % SESSION_STEPS == 0 && !l.config.reconnect_ms)
			rc = connect_again();
	}
	if (!rc)
		rc = kfbrick_get_info(l.k, &info);
	if (rc)
		return rc;
	l.instance_id = info.instance_id;
	printf("verified %u\n", ++l.verified);
	fflush(stdout);
	return 0;
}

static int alloc_or_free(unsigned int i)
{
	struct block *b = &l.blocks[i];
	bool is_alloc = b->known == ABSENT;
	int rc;

	if (!is_alloc && roll(4))
		return 0; /* mostly full */
	rc = is_alloc ? kfbrick_alloc(l.k, va_of(i), 1)
		      : kfbrick_free(l.k, va_of(i), 1);
	if (is_lost(rc))
		b->known = OPEN_ALLOC;
	if (rc)
		return rc;
	b->known = ABSENT;
	if (is_alloc) {
		memset(l.data[0], 0, BLOCK);
		know(i, 0, l.data[0]);
	}
	return 0;
}

static int step(void)
{
	unsigned int first = roll(l.n), n = 0, max = 1 + roll(RUN_MAX);

	if (!roll(3) || l.blocks[first].known == ABSENT)
		return alloc_or_free(first);
	while (n < max && first + n < l.n && l.blocks[first + n].known == SURE)
		n++;
	return n ? use(first, n, roll(2)) : 0;
}

static int come_back(void)
{
	int rc;

	do {
		rc = connect_again();
		if (!rc)
			rc = verify();
	} while (is_lost(rc));
	return rc;
}

static bool input_ended(void)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	char byte;

	return poll(&fd, 1, 0) == 1 && read(STDIN_FILENO, &byte, 1) <= 0;
}

/* Another instance, met by the library on its own: all must be there. */
static int look_after(void)
{
	struct kfbrick_info info = { .size = sizeof(info) };
	int rc = kfbrick_get_info(l.k, &info);

	return !rc && info.instance_id != l.instance_id ? verify() : rc;
}

static int work(void)
{
	unsigned int steps = 0;
	int rc = come_back();

	while (!rc && !input_ended()) {
		rc = step();
		if (!rc && ++steps % SESSION_STEPS == 0 &&
		    !l.config.reconnect_ms)
			rc = connect_again();
		if (!rc)
			rc = look_after();
		if (is_lost(rc))
			rc = come_back();
		else if (rc == -EAGAIN)
			rc = connect_again(); /* it may be our quarantine */
	}
	return rc ? rc : come_back();
}

int main(int argc, char **argv)
{
	int rc;

	if (argc != 8 || sodium_init() < 0 || key_file_read(argv[3], l.key))
		return 2;
	l.first = strtoull(argv[4], NULL, 0);
	l.n = (unsigned int)strtoul(argv[5], NULL, 0);
	l.seed = (unsigned int)strtoul(argv[6], NULL, 0);
	if (!l.n || l.n > BLOCKS_MAX)
		return 2;
	l.config = (struct kfbrick_config){
		.size = sizeof(l.config),
		.brick = argv[1],
		.client = argv[2],
		.key = l.key,
		.timeout_ms = TIMEOUT_MS,
		.reconnect_ms = (uint32_t)strtoul(argv[7], NULL, 0),
	};
	rc = work();
	if (rc && rc != -EUCLEAN)
		fprintf(stderr, "tier-load %s: %s: %s\n", l.config.client,
			strerror(-rc), kfbrick_error(l.k));
	kfbrick_close(l.k);
	return rc ? 1 : 0;
}
