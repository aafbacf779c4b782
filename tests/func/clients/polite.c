// SPDX-License-Identifier: BSD-2-Clause
/*
 * A client with little to do, which measures how long it takes:
 *
 *	polite BRICK CLIENT KEYFILE FIRST BLOCKS
 *
 * It goes round the blocks from number FIRST on, of which the last one is
 * allocated and freed each time. It reads commands from standard input and answers
 * each with lines, the last of which is "ok":
 *
 *	alone MS	go round for so long
 *	beside MS	the same, counted by itself
 *	report		for each op and each of the two: OP WHICH N P50 P99 MAX,
 *			nanoseconds; the next ones are counted from 0 on
 *
 * Whatever is not answered as it should be, or is read with other bytes than were
 * written, is told on standard error and ends it. It does not come back when it
 * loses its connection: that is told as well.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "initiator/lib/kfbrick.h"
#include "key_file.h"

#define DATA_BYTES 65536U
#define BLOCKS_MAX 64U
#define TIMEOUT_MS 60000 /* how long it takes decides nothing */
#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_S   UINT64_C(1000000000)
/* Another session is opened in one of so many rounds. */
#define ROUNDS_PER_SESSION 8

enum op {
	OP_PING,
	OP_MAP,
	OP_MINE,
	OP_READ,
	OP_WRITE,
	OP_FLUSH,
	OP_UNMAP,
	OP_ALLOC,
	OP_FREE,
	OP_SESSION,
	OPS
};

static const char *const op_names[OPS] = {
	"ping",	 "map",	  "mine",  "read", "write",
	"flush", "unmap", "alloc", "free", "session",
};

/* ---- how long ops take: 32 steps for each power of two ---- */

#define STEP_BITS 5
#define STEPS	  (1U << STEP_BITS)
#define BUCKETS	  ((64U - STEP_BITS + 1) * STEPS)

struct times {
	uint64_t n;
	uint64_t max;
	uint64_t buckets[BUCKETS];
};

enum which {
	ALONE,
	BESIDE,
	WHICHES
};

static const char *const which_names[WHICHES] = { "alone", "beside" };

static struct times times[OPS][WHICHES];
static enum which counted;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static unsigned int bucket_of(uint64_t ns)
{
	unsigned int shift;

	if (ns < STEPS)
		return (unsigned int)ns;
	shift = 63U - STEP_BITS - (unsigned int)__builtin_clzll(ns);
	return (shift + 1) * STEPS + (unsigned int)(ns >> shift) % STEPS;
}

/* The smallest value in a bucket. */
static uint64_t value_of(unsigned int bucket)
{
	if (bucket < STEPS)
		return bucket;
	return (uint64_t)(STEPS + bucket % STEPS) << (bucket / STEPS - 1);
}

static void count_time(enum op op, uint64_t begun_ns)
{
	struct times *t = &times[op][counted];
	uint64_t ns = now_ns() - begun_ns;

	t->n++;
	t->buckets[bucket_of(ns)]++;
	if (ns > t->max)
		t->max = ns;
}

static uint64_t percentile(const struct times *t, unsigned int percent)
{
	uint64_t below = 0;
	unsigned int i;

	for (i = 0; i < BUCKETS - 1; i++) {
		below += t->buckets[i];
		if (below * 100 >= t->n * percent)
			break;
	}
	return value_of(i);
}

static void report(void)
{
	for (unsigned int op = 0; op < OPS; op++) {
		for (unsigned int which = 0; which < WHICHES; which++) {
			const struct times *t = &times[op][which];

			printf("%s %s %" PRIu64 " %" PRIu64 " %" PRIu64
			       " %" PRIu64 "\n",
			       op_names[op], which_names[which], t->n,
			       t->n ? percentile(t, 50) : 0,
			       t->n ? percentile(t, 99) : 0, t->max);
		}
	}
	memset(times, 0, sizeof(times));
}

/* ---- a round ---- */

static struct kfbrick_config config = { .size = sizeof(config),
					.timeout_ms = TIMEOUT_MS };
static struct kfbrick *k;
static uint64_t first_block, n_blocks, n_rounds;
static uint64_t written[BLOCKS_MAX]; /* the round that wrote it; 0: none yet */
static uint64_t data[DATA_BYTES / sizeof(uint64_t)];

static bool fail(const char *what)
{
	fprintf(stderr, "round %" PRIu64 ": %s: %s\n", n_rounds, what,
		kfbrick_error(k));
	return false;
}

/* No two rounds and no two words have the same; what was never written has 0. */
static uint64_t word_of(uint64_t round, size_t i)
{
	return round ? (round << 32 | (i + 1)) * 0x9e3779b97f4a7c15ULL : 0;
}

static uint64_t address_of(uint64_t block)
{
	return (first_block + block) * KFBRICK_BLOCK_BYTES;
}

static bool lists_mine(uint64_t va, const struct kfbrick_mapping *mapping)
{
	struct kfbrick_extent extents[2];
	uint64_t cursor = 0;
	int n = kfbrick_list(k, KFBRICK_LIST_MINE, &cursor, extents, 2, NULL);

	if (n < 0)
		return fail("LIST");
	if (n != 1 || cursor || extents[0].va != va ||
	    extents[0].mapping_id != kfbrick_mapping_id(mapping))
		return fail("LIST has something else than what is mapped");
	return true;
}

static bool reads_back(uint64_t block)
{
	uint64_t begun_ns = now_ns();

	if (kfbrick_read(k, address_of(block), data, sizeof(data)))
		return fail("read");
	count_time(OP_READ, begun_ns);
	for (size_t i = 0; i < DATA_BYTES / sizeof(data[0]); i++)
		if (data[i] != word_of(written[block], i))
			return fail("other bytes than were written");
	return true;
}

static bool writes(uint64_t block)
{
	uint64_t begun_ns;

	written[block] = n_rounds;
	for (size_t i = 0; i < DATA_BYTES / sizeof(data[0]); i++)
		data[i] = word_of(n_rounds, i);
	begun_ns = now_ns();
	if (kfbrick_write(k, address_of(block), data, sizeof(data)))
		return fail("write");
	count_time(OP_WRITE, begun_ns);
	begun_ns = now_ns();
	if (kfbrick_flush(k))
		return fail("FLUSH");
	count_time(OP_FLUSH, begun_ns);
	return true;
}

static bool uses_block(uint64_t block)
{
	struct kfbrick_mapping *mapping;
	uint64_t begun_ns = now_ns();

	if (kfbrick_map(k, address_of(block), 1,
			KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE, &mapping))
		return fail("MAP");
	count_time(OP_MAP, begun_ns);
	begun_ns = now_ns();
	if (!lists_mine(address_of(block), mapping))
		return false;
	count_time(OP_MINE, begun_ns);
	if (!reads_back(block) || !writes(block))
		return false;
	begun_ns = now_ns();
	if (kfbrick_unmap(k, mapping))
		return fail("UNMAP");
	count_time(OP_UNMAP, begun_ns);
	return true;
}

static bool has_another_block(void)
{
	uint64_t va = address_of(n_blocks);
	uint64_t begun_ns = now_ns();

	if (kfbrick_alloc(k, va, 1))
		return fail("ALLOC");
	count_time(OP_ALLOC, begun_ns);
	begun_ns = now_ns();
	if (kfbrick_free(k, va, 1))
		return fail("FREE");
	count_time(OP_FREE, begun_ns);
	return true;
}

static bool opens_session(void)
{
	uint64_t begun_ns = now_ns();
	struct kfbrick *other;
	int rc = kfbrick_connect(&config, &other);

	if (rc)
		fprintf(stderr, "round %" PRIu64 ": connect: %s\n", n_rounds,
			kfbrick_error(other));
	else
		count_time(OP_SESSION, begun_ns);
	kfbrick_close(other);
	return !rc;
}

static bool goes_round(void)
{
	uint64_t begun_ns = now_ns();

	n_rounds++;
	if (kfbrick_ping(k))
		return fail("PING");
	count_time(OP_PING, begun_ns);
	return uses_block(n_rounds % n_blocks) && has_another_block() &&
	       (n_rounds % ROUNDS_PER_SESSION || opens_session());
}

static bool goes_round_for(enum which which, uint64_t ms)
{
	uint64_t end_ns = now_ns() + ms * NS_PER_MS;

	counted = which;
	do {
		if (!goes_round())
			return false;
	} while (now_ns() < end_ns);
	return true;
}

/* ---- commands ---- */

static bool obeys(const char *line)
{
	const char *number = strchr(line, ' ');

	for (unsigned int i = 0; number && i < WHICHES; i++)
		if (!strncmp(line, which_names[i], (size_t)(number - line)))
			return goes_round_for((enum which)i,
					      strtoull(number, NULL, 10));
	if (!strcmp(line, "report\n")) {
		report();
		return true;
	}
	fprintf(stderr, "not a command: %s", line);
	return false;
}

/* Until there is a command, or no more of them: its session goes on meanwhile. */
static bool wait_for_command(void)
{
	struct pollfd ready[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = kfbrick_wait_fd(k), .events = POLLIN },
	};
	struct kfbrick_completion none;

	while (!ready[0].revents) {
		if (kfbrick_poll(k, &none, 1, 0) < 0)
			return fail("its connection");
		(void)poll(ready, 2, -1);
	}
	return true;
}

int main(int argc, char **argv)
{
	uint8_t key[KFBRICK_KEY_BYTES];
	char line[64];
	bool ok;

	if (argc != 6 || key_file_read(argv[3], key)) {
		fprintf(stderr, "usage: %s BRICK CLIENT KEYFILE FIRST BLOCKS\n",
			argv[0]);
		return 2;
	}
	config.brick = argv[1];
	config.client = argv[2];
	config.key = key;
	first_block = strtoull(argv[4], NULL, 10);
	n_blocks = strtoull(argv[5], NULL, 10) - 1;
	if (!n_blocks || n_blocks > BLOCKS_MAX)
		return 2;
	ok = !kfbrick_connect(&config, &k) || fail("connect");
	ok = ok &&
	     (!kfbrick_alloc(k, address_of(0), n_blocks) || fail("ALLOC"));
	/* Unbuffered: poll() knows nothing of what a buffer holds. */
	setvbuf(stdin, NULL, _IONBF, 0);
	while (ok) {
		ok = wait_for_command();
		if (!ok || !fgets(line, sizeof(line), stdin))
			break;
		ok = obeys(line);
		if (ok) {
			puts("ok");
			fflush(stdout);
		}
	}
	kfbrick_close(k);
	return ok ? 0 : 1;
}
