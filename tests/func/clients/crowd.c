// SPDX-License-Identifier: BSD-2-Clause
/*
 * Many sessions in one process, for tests of what each costs the brick:
 *
 *	crowd hold BRICK CLIENT KEYFILE N LEASE_MS
 *	crowd cycle BRICK CLIENT KEYFILE N
 *	crowd astray BRICK CLIENT KEYFILE N
 *
 * hold opens N sessions, says "open" and keeps them with a PING each half of
 * a lease, as a client with nothing to do does, until its input ends.
 * cycle opens and ends N sessions, one after the other, every other one without
 * a disconnect. astray has N sessions refused that want another brick.
 */
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "key_file.h"
#include "proto/kfb_err.h"
#include "raw_session.h"

static struct raw_identity id;

static bool ping(struct raw_session *s, uint32_t flags)
{
	struct kfb_request req = { .op = KFB_OP_PING };

	req.u.ping.flags = flags;
	return raw_call(s, &req) == RAW_ACCEPTED &&
	       s->reply.status == KFB_ST_OK;
}

static bool input_has_ended(int timeout_ms)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, timeout_ms) != 0;
}

/* Each half of a lease a PING of each, spread evenly. */
static bool keep(struct raw_session *all, unsigned long n, int lease_ms)
{
	unsigned long i = 0;

	while (!input_has_ended(0)) {
		if (!ping(&all[i], 0)) {
			fprintf(stderr, "session %lu is lost\n", i);
			return false;
		}
		i = (i + 1) % n;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000L * lease_ms /
							 2 / (long)n },
			  NULL);
	}
	return true;
}

static int hold(unsigned long n, int lease_ms)
{
	struct raw_session *all = calloc(n, sizeof(*all));
	bool ok = all;

	for (unsigned long i = 0; ok && i < n; i++) {
		ok = raw_session_open(&all[i], &id);
		/* Those that are open already must not wait for the rest. */
		for (unsigned long j = 0; ok && i % 64 == 63 && j < i; j++)
			ok = ping(&all[j], 0);
	}
	if (ok) {
		puts("open");
		fflush(stdout);
		ok = keep(all, n, lease_ms);
	}
	for (unsigned long i = 0; ok && i < n; i++)
		ok = ping(&all[i], KFB_PING_END);
	return ok ? 0 : 1;
}

static int cycle(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		struct raw_session s;

		if (!raw_session_open(&s, &id))
			return 1;
		if (i % 2 && !ping(&s, KFB_PING_END))
			return 1;
		raw_session_close(&s);
	}
	return 0;
}

static int astray(unsigned long n)
{
	const uint8_t other[KFB_UUID_BYTES] = { 1 };

	for (unsigned long i = 0; i < n; i++) {
		struct kfb_request req;
		struct kfb_hello hello;
		struct raw_session s;
		uint16_t status;
		bool ok;

		raw_hello(&hello);
		if (raw_session_connect(&s, &id, &hello, &status) !=
		    RAW_ACCEPTED)
			return 1;
		ok = raw_auth_request_to(&s, &id, other, &req) &&
		     raw_call(&s, &req) == RAW_ACCEPTED &&
		     s.reply.status == KFB_ST_STALE;
		raw_session_close(&s);
		if (!ok)
			return 1;
	}
	return 0;
}

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	bool is_hold = argc == 7 && !strcmp(argv[1], "hold");
	unsigned long n;

	if ((!is_hold && argc != 6) || key_file_read(argv[4], id.key) ||
	    sodium_init() < 0) {
		fprintf(stderr,
			"usage: %s hold|cycle|astray BRICK CLIENT KEYFILE N "
			"[LEASE_MS]\n",
			argv[0]);
		return 2;
	}
	raise_descriptor_limit();
	id.url = argv[2];
	id.client = argv[3];
	n = strtoul(argv[5], NULL, 10);
	if (is_hold)
		return hold(n, (int)strtol(argv[6], NULL, 10));
	return strcmp(argv[1], "astray") ? cycle(n) : astray(n);
}
