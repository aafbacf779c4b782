// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: threads that can be held. While the folder HOLD has a file
 * lookup, commit or copy, the registrar looks up no block, the store thread
 * commits nothing, and the tier copies nothing; while it has a file selftest or opened,
 * the start does not go on before the self-test of a fabric, or when the store has been
 * opened. Each says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "brickd/net/devices.h"
#include "brickd/net/selftest.h"
#include "brickd/store/move.h"
#include "brickd/store/store.h"

#define PAUSE_NS 1000000
#define PATH_LEN 4096

int __real_brick_store_lookup(struct brick_store *s, uint64_t va,
			      uint64_t max_blocks, struct brick_run *run);
int __wrap_brick_store_lookup(struct brick_store *s, uint64_t va,
			      uint64_t max_blocks, struct brick_run *run);
void __real_brick_store_commit(struct brick_store *s,
			       struct brick_store_op *ops);
void __wrap_brick_store_commit(struct brick_store *s,
			       struct brick_store_op *ops);
void __real_brick_move_copy(struct brick_store *s, struct brick_move *moves,
			    unsigned int n);
void __wrap_brick_move_copy(struct brick_store *s, struct brick_move *moves,
			    unsigned int n);

int __real_brick_selftest(struct brick_fabric *fabric, char *err,
			  size_t err_len);
int __wrap_brick_selftest(struct brick_fabric *fabric, char *err,
			  size_t err_len);
int __real_brick_devices_try_medium(const struct brick_fabric *fabric,
				    const struct brick_media *media, char *err,
				    size_t err_len);
int __wrap_brick_devices_try_medium(const struct brick_fabric *fabric,
				    const struct brick_media *media, char *err,
				    size_t err_len);

static void hold_anybody(const char *what)
{
	const char *folder = getenv("HOLD");
	char path[PATH_LEN];

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, what);
	if (access(path, F_OK))
		return;
	fprintf(stderr, "held: %s\n", what);
	while (!access(path, F_OK))
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
}

/* Not the loop, which is the first thread. */
static void hold(const char *what)
{
	if (gettid() != getpid())
		hold_anybody(what);
}

int __wrap_brick_selftest(struct brick_fabric *fabric, char *err,
			  size_t err_len)
{
	hold_anybody("selftest");
	return __real_brick_selftest(fabric, err, err_len);
}

int __wrap_brick_devices_try_medium(const struct brick_fabric *fabric,
				    const struct brick_media *media, char *err,
				    size_t err_len)
{
	hold_anybody("opened");
	return __real_brick_devices_try_medium(fabric, media, err, err_len);
}

int __wrap_brick_store_lookup(struct brick_store *s, uint64_t va,
			      uint64_t max_blocks, struct brick_run *run)
{
	hold("lookup");
	return __real_brick_store_lookup(s, va, max_blocks, run);
}

void __wrap_brick_store_commit(struct brick_store *s,
			       struct brick_store_op *ops)
{
	hold("commit");
	__real_brick_store_commit(s, ops);
}

void __wrap_brick_move_copy(struct brick_store *s, struct brick_move *moves,
			    unsigned int n)
{
	hold("copy");
	__real_brick_move_copy(s, moves, n);
}
