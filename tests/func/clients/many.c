// SPDX-License-Identifier: BSD-2-Clause
/*
 * Many clients in one process, each a libkfbrick connection of its own:
 *
 *	many BRICK CLIENT KEYFILE IDLE ACTIVE FIRST_BLOCK
 *
 * Idle ones have one block mapped read-only, which all share, and do nothing but
 * what the library does by itself: they keep their lease, and come back when
 * the brick was away. Active ones have another block, for writing, with 4 KiB
 * of it for each. It reads commands from standard input; lines of numbers come
 * before the line that answers:
 *
 *	open		"ok": all are connected; of each: nanoseconds until it
 *			had its mapping, its first answer
 *	rest		"ok", at once: only the library works meanwhile
 *	work MS EACH_MS	"ok": each active one has written 4 KiB and flushed in
 *			its turn, each so often; of each time: nanoseconds
 *	ask		"asked": each has posted a read, also while the brick is
 *			away; then "ok": all have been answered; of each: when,
 *			nanoseconds of CLOCK_MONOTONIC
 *
 * "failed" with a reason on standard error ends the program.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "key_file.h"

#define NS_PER_MS    UINT64_C(1000000)
#define DATA_BYTES   4096U
#define PER_BLOCK    (KFBRICK_BLOCK_BYTES / DATA_BYTES)
#define RECONNECT_MS 600000
#define TIMEOUT_MS   60000
#define EVENTS_MAX   64
#define SHARED_BLOCK 0

enum step {
	RESTING,
	WRITING,
	FLUSHING,
	READING
};

/*
 * struct one - a client
 * @va: what it has mapped
 * @data: of its writes and reads
 * @step: what it waits for
 * @begun_ns: since when
 * @due_ns: an active one's next turn
 */
struct one {
	struct kfbrick *k;
	uint64_t va;
	uint8_t *data;
	enum step step;
	uint64_t begun_ns;
	uint64_t due_ns;
};

static struct kfbrick_config config = { .size = sizeof(config),
					.timeout_ms = TIMEOUT_MS,
					.queue_depth = 2,
					.reconnect_ms = RECONNECT_MS };
static struct one *all;
static size_t n_all, n_idle, n_open;
static uint64_t first_block;
static uint64_t *samples;
static size_t n_samples, samples_cap;
static int epoll_fd;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 * NS_PER_MS + (uint64_t)t.tv_nsec;
}

static bool fail(const struct one *c, const char *what, int rc)
{
	fprintf(stderr, "client %zu: %s: %s: %s\n", (size_t)(c - all), what,
		strerror(-rc), kfbrick_error(c->k));
	return false;
}

static bool keep_sample(uint64_t value)
{
	if (n_samples == samples_cap) {
		size_t cap = samples_cap ? 2 * samples_cap : 4096;
		uint64_t *more = realloc(samples, cap * sizeof(*more));

		if (!more)
			return false;
		samples = more;
		samples_cap = cap;
	}
	samples[n_samples++] = value;
	return true;
}

static void say(const char *word)
{
	for (size_t i = 0; i < n_samples; i++)
		printf("%" PRIu64 "\n", samples[i]);
	n_samples = 0;
	puts(word);
	fflush(stdout);
}

/* ---- what they do ---- */

static bool is_active(const struct one *c)
{
	return (size_t)(c - all) >= n_idle;
}

/* What it waited for is there. */
static bool next_step(struct one *c, int error)
{
	int rc;

	/* A volatile brick has nothing to make durable. */
	if (error && (c->step != FLUSHING || error != -EOPNOTSUPP))
		return fail(c, "an operation", error);
	if (c->step == WRITING) {
		c->step = FLUSHING;
		rc = kfbrick_post_flush(c->k, c);
		return !rc || fail(c, "a flush", rc);
	}
	if (c->step == FLUSHING && !keep_sample(now_ns() - c->begun_ns))
		return false;
	if (c->step == READING && !keep_sample(now_ns()))
		return false;
	c->step = RESTING;
	return true;
}

static bool look_at(struct one *c)
{
	struct kfbrick_completion done[4];
	int n;

	do {
		n = kfbrick_poll(c->k, done, 4, 0);
		for (int i = 0; i < n; i++)
			if (!next_step(c, done[i].error))
				return false;
	} while (n > 0);
	return !n || fail(c, "its session", n);
}

/* Lets all go on, for so long at most; false: one has failed. */
static bool go_on(int ms, bool *has_command)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(epoll_fd, events, EVENTS_MAX, ms);

	*has_command = false;
	for (int i = 0; i < n; i++) {
		if (!events[i].data.ptr)
			*has_command = true;
		else if (!look_at(events[i].data.ptr))
			return false;
	}
	return true;
}

/* Rather late than without sleep: there are more processes than processors. */
static bool go_on_until(uint64_t end_ns)
{
	uint64_t now = now_ns();
	bool has_command;

	if (now >= end_ns)
		return go_on(0, &has_command);
	return go_on((int)((end_ns - now + NS_PER_MS - 1) / NS_PER_MS),
		     &has_command);
}

/* ---- commands ---- */

static bool open_one(struct one *c)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
	bool active = is_active(c);
	size_t place = (size_t)(c - all) - n_idle;
	struct kfbrick_mapping *mapping;
	struct kfbrick_memory *memory;
	uint64_t begun_ns = now_ns();
	uint64_t block = SHARED_BLOCK;
	int rc;

	rc = kfbrick_connect(&config, &c->k);
	if (rc)
		return fail(c, "connect", rc);
	if (active)
		block = first_block + place / PER_BLOCK;
	c->va = block * KFBRICK_BLOCK_BYTES;
	rc = kfbrick_map(c->k, c->va, 1,
			 KFBRICK_MAP_SHARED |
				 (active ? KFBRICK_MAP_RW : KFBRICK_MAP_RO),
			 &mapping);
	if (rc)
		return fail(c, "MAP", rc);
	if (!keep_sample(now_ns() - begun_ns))
		return false;
	if (active)
		c->va += place % PER_BLOCK * DATA_BYTES;
	/* What is idle shares its memory, too: nobody looks at it. */
	c->data = active ? calloc(1, DATA_BYTES) : all[0].data;
	if (!c->data)
		c->data = calloc(1, DATA_BYTES);
	rc = c->data ? kfbrick_memory_register(c->k, c->data, DATA_BYTES,
					       &memory)
		     : -ENOMEM;
	if (rc)
		return fail(c, "memory", rc);
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, kfbrick_wait_fd(c->k), &event))
		return fail(c, "its descriptor", -errno);
	n_open++;
	return look_at(c);
}

static bool open_all(void)
{
	bool has_command;

	for (size_t i = 0; i < n_all; i++)
		if (!open_one(&all[i]) || !go_on(0, &has_command))
			return false;
	say("ok");
	return true;
}

static bool begin_turn(struct one *c, uint64_t each_ns)
{
	uint64_t now = now_ns();
	int rc;

	c->due_ns += each_ns;
	/* One that was late does not make up for it. */
	if (c->due_ns < now)
		c->due_ns = now + each_ns;
	if (c->step != RESTING)
		return true; /* its last turn takes this one, too */
	c->begun_ns = now;
	c->data[0]++;
	rc = kfbrick_post_write(c->k, c->va, c->data, DATA_BYTES, c);
	if (rc == -EAGAIN)
		return true;
	c->step = WRITING;
	return !rc || fail(c, "a write", rc);
}

static bool work(uint64_t ms, uint64_t each_ms)
{
	uint64_t begun_ns = now_ns(), each_ns = each_ms * NS_PER_MS;
	uint64_t end_ns = begun_ns + ms * NS_PER_MS;
	size_t n = n_all - n_idle, i;

	for (i = 0; i < n; i++)
		all[n_idle + i].due_ns = begun_ns + each_ns * i / n;
	/* They are due in their order, one round after the other. */
	for (i = 0; now_ns() < end_ns && n; i = i + 1 < n ? i + 1 : 0) {
		struct one *c = &all[n_idle + i];

		do {
			if (!go_on_until(c->due_ns < end_ns ? c->due_ns
							    : end_ns))
				return false;
		} while (now_ns() < c->due_ns && now_ns() < end_ns);
		if (now_ns() < end_ns && !begin_turn(c, each_ns))
			return false;
	}
	for (i = 0; i < n; i++)
		while (all[n_idle + i].step != RESTING)
			if (!go_on_until(now_ns() + NS_PER_MS))
				return false;
	say("ok");
	return true;
}

static bool ask(void)
{
	size_t n_before = n_samples;
	size_t i;

	for (i = 0; i < n_all; i++) {
		struct one *c = &all[i];
		int rc;

		while ((rc = kfbrick_post_read(c->k, c->va, c->data, DATA_BYTES,
					       c)) == -EAGAIN)
			if (!look_at(c) || !go_on_until(now_ns() + NS_PER_MS))
				return false;
		if (rc)
			return fail(c, "a read", rc);
		c->step = READING;
	}
	puts("asked");
	fflush(stdout);
	while (n_samples - n_before < n_all)
		if (!go_on_until(now_ns() + 100 * NS_PER_MS))
			return false;
	say("ok");
	return true;
}

static bool obeys(const char *line)
{
	uint64_t ms, each_ms;
	char *end;

	if (!strcmp(line, "open\n"))
		return open_all();
	if (!strcmp(line, "ask\n"))
		return ask();
	if (!strncmp(line, "work ", 5)) {
		ms = strtoull(line + 5, &end, 10);
		each_ms = strtoull(end, NULL, 10);
		return ms && each_ms && work(ms, each_ms);
	}
	if (strcmp(line, "rest\n"))
		return false;
	say("ok");
	return true;
}

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static bool begin(char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };

	config.brick = argv[1];
	config.client = argv[2];
	n_idle = strtoull(argv[4], NULL, 10);
	n_all = n_idle + strtoull(argv[5], NULL, 10);
	first_block = strtoull(argv[6], NULL, 10);
	all = calloc(n_all + 1, sizeof(*all));
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	/* Unbuffered: epoll knows nothing of what a buffer holds. */
	setvbuf(stdin, NULL, _IONBF, 0);
	return all && epoll_fd >= 0 &&
	       !epoll_ctl(epoll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &event);
}

int main(int argc, char **argv)
{
	uint8_t key[KFBRICK_KEY_BYTES];
	char line[64];
	bool ok;

	if (argc != 7 || key_file_read(argv[3], key)) {
		fprintf(stderr,
			"usage: %s BRICK CLIENT KEYFILE IDLE ACTIVE FIRST\n",
			argv[0]);
		return 2;
	}
	config.key = key;
	raise_descriptor_limit();
	ok = begin(argv);
	while (ok) {
		bool has_command = false;

		while (ok && !has_command)
			ok = go_on(-1, &has_command);
		if (!ok || !fgets(line, sizeof(line), stdin))
			break;
		ok = obeys(line);
	}
	if (!ok)
		say("failed");
	for (size_t i = 0; i < n_open; i++)
		kfbrick_close(all[i].k);
	return ok ? 0 : 1;
}
