// SPDX-License-Identifier: BSD-2-Clause
/*
 * What connections of libfabric's tcp provider take, and nothing around them:
 * bare-crowd CONNECTIONS
 *
 * Each has a domain, a completion queue and an endpoint of its own, as brickd's
 * sessions have, and as many receives posted. Prints the private memory of the
 * passive side for each.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "bare.h"
#include "samples.h"

/* Of a session with brickd's default of 16 credits. */
#define N_RECEIVES 18
#define CQ_SIZE	   40

static long memory_kib(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "RssAnon:", 8))
			kib = strtol(line + 8, NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

static void accept_one(struct bare *b, const struct bare *listener)
{
	static struct fi_context contexts[N_RECEIVES];
	static uint8_t message[BARE_MESSAGE_BYTES];

	*b = *listener;
	b->cq_size = CQ_SIZE;
	bare_accept(b);
	for (int i = 0; i < N_RECEIVES; i++)
		BARE_TRY(fi_recv(b->ep, message, sizeof(message), NULL, 0,
				 &contexts[i]));
}

static int run_passive(int to, unsigned long n)
{
	struct bare *all = calloc(n, sizeof(*all));
	struct bare listener = { 0 };
	size_t len;
	void *address = bare_listen(&listener, &len);
	long before;

	if (!all || write(to, address, len) != (ssize_t)len)
		return 1;
	before = memory_kib();
	for (unsigned long i = 0; i < n; i++)
		accept_one(&all[i], &listener);
	printf("%lu connections: %.1f KiB each\n", n,
	       (double)(memory_kib() - before) / (double)n);
	fflush(stdout);
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
	unsigned long n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	uint8_t address[BARE_ADDRESS_BYTES];
	struct bare *all = calloc(n + 1, sizeof(*all));
	int ends[2], status = 1;
	ssize_t len;

	if (!n || !all || pipe(ends)) {
		fprintf(stderr, "usage: %s CONNECTIONS\n", argv[0]);
		free(all);
		return 2;
	}
	raise_descriptor_limit();
	if (!fork())
		_exit(run_passive(ends[1], n));
	close(ends[1]);
	len = read(ends[0], address, sizeof(address));
	for (unsigned long i = 0; len > 0 && i < n; i++)
		bare_connect(&all[i], address, (size_t)len);
	wait(&status);
	free(all);
	return status ? 1 : 0;
}
