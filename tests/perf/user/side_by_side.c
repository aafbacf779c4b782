// SPDX-License-Identifier: BSD-2-Clause
/*
 * libkfbrick, with a flush behind each durable write and with writes that need
 * none, and libfabric's tcp provider alone, in turns of a few ms:
 *
 *	side-by-side BRICK FILE MILLISECONDS [CPU CPU]
 *
 * BRICK is a brick without authentication; FILE is what the bare loop's passive
 * side maps. All write from one process, so that whatever the machine does
 * meanwhile hits all alike. With two processors this process stays on the
 * first one and the bare loop's passive side on the second. Prints a line for
 * each: the median of its durable writes, and its bytes a second.
 */
#include <string.h>
#include <sys/wait.h>

#include "bare.h"
#include "peer.h"
#include "samples.h"

#define N_PEERS	     3
#define TURN_NS	     (5 * NS_PER_MS)
#define LARGE_WRITES 12 /* of a turn */
#define WARM_UP	     512

struct figures {
	struct samples samples;
	uint64_t at;
	uint64_t bytes;
	uint64_t large_ns;
};

static struct figures figures[N_PEERS];

static int durable_turn(const struct peer *peer, struct figures *f)
{
	uint64_t begin = now_ns(), now = begin;
	int rc = 0;

	while (!rc && now - begin < TURN_NS) {
		uint64_t start = now;

		rc = peer->durable(f->at);
		now = now_ns();
		samples_add(&f->samples, now - start);
		f->at = (f->at + SMALL_BYTES) % AREA_BYTES;
	}
	return rc;
}

static int large_turn(const struct peer *peer, struct figures *f)
{
	uint64_t begin = now_ns();
	int rc = peer->large(LARGE_WRITES);

	f->large_ns += now_ns() - begin;
	f->bytes += (uint64_t)LARGE_WRITES * LARGE_BYTES;
	return rc;
}

/* Every place is written once, so that no page is new afterwards. */
static int warm_up(const struct peer *peer)
{
	int rc = peer->large(AREA_BYTES / LARGE_BYTES);

	for (unsigned int i = 0; !rc && i < WARM_UP; i++)
		rc = peer->durable(0);
	return rc;
}

static int measure(const struct peer *peers[], uint64_t for_ns)
{
	uint64_t turns = for_ns / TURN_NS + 1;
	int rc = 0;

	for (int i = 0; !rc && i < N_PEERS; i++)
		rc = warm_up(peers[i]);
	for (uint64_t n = 0; !rc && n < turns * N_PEERS; n++)
		rc = durable_turn(peers[n % N_PEERS], &figures[n % N_PEERS]);
	while (!rc && figures[0].large_ns < for_ns)
		for (int i = 0; !rc && i < N_PEERS; i++)
			rc = large_turn(peers[i], &figures[i]);
	return rc;
}

static int run(const char *url, const void *address, size_t len,
	       uint64_t for_ns)
{
	uint8_t *buffer =
		aligned_alloc(4096, (size_t)LARGE_DEPTH * LARGE_BYTES);
	const struct peer *peers[N_PEERS];
	int rc;

	if (!buffer)
		return -1;
	memset(buffer, 1, (size_t)LARGE_DEPTH * LARGE_BYTES);
	peers[0] = kfbrick_peer(url, buffer);
	if (!peers[0])
		return -1;
	peers[1] = kfbrick_commit_peer();
	peers[2] = bare_peer(address, len, buffer);
	rc = measure(peers, for_ns);
	for (int i = 0; i < N_PEERS; i++) {
		struct figures *f = &figures[i];

		samples_print(&f->samples, f->bytes, f->large_ns);
		peers[i]->end();
	}
	free(buffer);
	return rc;
}

int main(int argc, char **argv)
{
	uint64_t for_ns =
		argc > 3 ? strtoull(argv[3], NULL, 10) * NS_PER_MS : 0;
	uint8_t address[BARE_ADDRESS_BYTES];
	size_t len;
	pid_t child;
	int rc;

	if (!for_ns || (argc != 4 && argc != 6)) {
		fprintf(stderr, "usage: %s BRICK FILE MILLISECONDS [CPU CPU]\n",
			argv[0]);
		return 2;
	}
	child = bare_start(argv[2], argc == 6 ? argv[5] : NULL, address, &len);
	if (child < 0) {
		fprintf(stderr, "side-by-side: no server\n");
		return 1;
	}
	stay_on(argc == 6 ? argv[4] : NULL);
	rc = run(argv[1], address, len, for_ns);
	fflush(stdout);
	waitpid(child, NULL, 0);
	return rc ? 1 : 0;
}
