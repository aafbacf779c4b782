// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two peers that want the same block, for tests of the fence between them, and one
 * that fences:
 *
 *	fence write BRICK CLIENT KEYFILE
 *	fence check BRICK CLIENT KEYFILE
 *	fence evict BRICK CLIENT KEYFILE VICTIM
 *	fence register BRICK CLIENT KEYFILE KEY
 *
 * The writer maps the block, says "mapped ID" and writes to it without a pause
 * and without another message, so that its lease is not renewed: it says
 * "writing" when the first writes are done and "ended" when its connection is.
 *
 * The checker waits until it can map the block, and says "waiting" when it must;
 * then it fills it with another pattern and says "filled". To each line "check" it says "clean", or what it has found
 * and exits with 1; at the end of its input it gives the block back.
 *
 * The one that fences, or registers for reservations, maps the block beside others and
 * says "mapped". To a line it does so in that same session, and says "answered STATUS"
 * or "ended".
 */
#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "key_file.h"
#include "proto/kfb_err.h"
#include "raw_session.h"

#define VA	     UINT64_C(0)
#define BLOCK	     KFB_BLOCK_BYTES
#define WRITE_BYTES  (BLOCK / 2)
#define WRITES	     4 /* in flight */
#define FIRST_WRITES 16
#define WRITER_BYTE  0xa5
#define CHECKER_BYTE 0x5a
#define READS	     4 /* of the whole block, for each check */
#define MAP_TRIES    60000
#define PAUSE_NS     1000000
#define RENEW_MS     100
#define WAIT_MS	     30000

static uint8_t data[BLOCK];
static struct raw_session s;
static struct kfb_handle handle;

static void say(const char *text)
{
	puts(text);
	fflush(stdout);
}

static int call(struct kfb_request *req)
{
	if (raw_call(&s, req) != RAW_ACCEPTED)
		return -ECONNRESET;
	return s.reply.status;
}

/* Return: KFB_ST_*, or a negative errno when the connection ended. */
static int map_when_free(void)
{
	int status = KFB_ST_AGAIN;

	for (int i = 0; i < MAP_TRIES; i++) {
		struct kfb_request req = { .op = KFB_OP_MAP };

		req.u.map.range.n_blocks = 1;
		req.u.map.flags = KFB_MAP_RW | KFB_MAP_EXCLUSIVE;
		status = call(&req);
		if (status != KFB_ST_BUSY && status != KFB_ST_AGAIN)
			break;
		if (!i)
			say("waiting");
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
	if (!status)
		handle = s.reply.u.map.handles[0];
	return status;
}

/* Posts a write to one half of the block; waits for room. */
static bool post_write(unsigned int n)
{
	uint64_t offset = n % 2 ? WRITE_BYTES : 0;
	int rc;

	while ((rc = raw_write(s.c, data + offset, WRITE_BYTES,
			       handle.raddr + offset, handle.key)) == -EAGAIN)
		if (raw_wait(s.c, 1, WAIT_MS) != RAW_ACCEPTED)
			return false;
	return !rc;
}

static int run_writer(void)
{
	struct kfb_request alloc = { .op = KFB_OP_ALLOC };
	unsigned int n = 0;
	int status;

	alloc.u.range.n_blocks = 1;
	status = call(&alloc);
	if (status && status != KFB_ST_EXISTS)
		return 2;
	status = map_when_free();
	if (status) {
		fprintf(stderr, "not mapped: %d\n", status);
		return 2;
	}
	printf("mapped %llx\n", (unsigned long long)s.reply.u.map.mapping_id);
	fflush(stdout);
	memset(data, WRITER_BYTE, sizeof(data));
	while (n < WRITES && post_write(n))
		n++;
	while (raw_wait(s.c, 1, WAIT_MS) == RAW_ACCEPTED && post_write(n))
		if (n++ == FIRST_WRITES)
			say("writing");
	say("ended");
	return 0;
}

static bool renew(void)
{
	struct kfb_request ping = { .op = KFB_OP_PING };

	if (!call(&ping))
		return true;
	say("the connection is lost");
	return false;
}

/* Reads the block; false with a message when it is not all ours. */
static bool is_clean(void)
{
	for (int i = 0; i < READS && renew(); i++) {
		memset(data, 0, sizeof(data));
		if (raw_read(s.c, data, BLOCK, handle.raddr, handle.key) ||
		    raw_wait(s.c, 1, WAIT_MS) != RAW_ACCEPTED) {
			say("the block cannot be read");
			return false;
		}
		for (size_t at = 0; at < BLOCK; at++) {
			if (data[at] == CHECKER_BYTE)
				continue;
			printf("foreign byte %02x at %zx\n", data[at], at);
			return false;
		}
	}
	return true;
}

static bool fill(void)
{
	memset(data, CHECKER_BYTE, sizeof(data));
	return !raw_write(s.c, data, BLOCK, handle.raddr, handle.key) &&
	       raw_wait(s.c, 1, WAIT_MS) == RAW_ACCEPTED && is_clean();
}

/* A line of input, with the lease renewed meanwhile; false at its end. */
static bool next_line(char *line, int size)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	while (!poll(&input, 1, RENEW_MS))
		if (!renew())
			return false;
	return fgets(line, size, stdin);
}

static int run_checker(void)
{
	struct kfb_request end = { .op = KFB_OP_PING };
	int status = map_when_free();
	char line[64];

	if (status) {
		fprintf(stderr, "not mapped: %d\n", status);
		return 2;
	}
	if (!fill())
		return 1;
	say("filled");
	while (next_line(line, sizeof(line))) {
		if (!is_clean())
			return 1;
		say("clean");
	}
	end.u.ping.flags = KFB_PING_END;
	return call(&end) ? 2 : 0;
}

static int run_asker(struct kfb_request *req)
{
	struct kfb_request map = { .op = KFB_OP_MAP };
	char line[64];
	int status;

	map.u.map.range.n_blocks = 1;
	map.u.map.flags = KFB_MAP_RW | KFB_MAP_SHARED;
	status = call(&map);
	if (status) {
		fprintf(stderr, "not mapped: %d\n", status);
		return 2;
	}
	say("mapped");
	if (!next_line(line, sizeof(line)))
		return 2;
	status = call(req);
	if (status < 0)
		say("ended");
	else
		printf("answered %d\n", status);
	return 0;
}

static int run_evictor(const char *victim)
{
	struct kfb_request fence = { .op = KFB_OP_FENCE };

	fence.u.fence.what = KFB_FENCE_EVICT;
	fence.u.fence.name_len = (uint8_t)strlen(victim);
	strcpy(fence.u.fence.name, victim);
	return run_asker(&fence);
}

static int run_registrant(const char *key)
{
	struct kfb_request reserve = { .op = KFB_OP_RESERVE };

	reserve.u.reserve.range.n_blocks = 1;
	reserve.u.reserve.action = KFB_RESERVE_REGISTER;
	reserve.u.reserve.new_key = strtoull(key, NULL, 0);
	return run_asker(&reserve);
}

int main(int argc, char **argv)
{
	bool evicts = argc > 1 && !strcmp(argv[1], "evict");
	bool registers = argc > 1 && !strcmp(argv[1], "register");
	struct raw_identity id = { 0 };

	if (argc != 5 + evicts + registers || key_file_read(argv[4], id.key) ||
	    sodium_init() < 0) {
		fprintf(stderr,
			"usage: %s write|check|evict|register BRICK CLIENT KEYFILE [VICTIM|KEY]\n",
			argv[0]);
		return 2;
	}
	id.url = argv[2];
	id.client = argv[3];
	if (!raw_session_open(&s, &id))
		return 2;
	if (evicts)
		return run_evictor(argv[5]);
	if (registers)
		return run_registrant(argv[5]);
	return strcmp(argv[1], "write") ? run_checker() : run_writer();
}
