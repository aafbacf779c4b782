// SPDX-License-Identifier: BSD-2-Clause
/* kfabric-9p-bridge: the command line. */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bridge.h"
#include "kfabric/9p/k9p_wire.h"

static const char usage[] =
	"Usage: kfabric-9p-bridge [OPTION...] ADDRESS PORT SERVER\n"
	"Carries 9P from mounts with trans=kfabric to a 9P server.\n"
	"  -p, --provider PROVIDER  verbs (default), tcp or stcp\n"
	"  -m, --msize BYTES        longest message (65536)\n"
	"  -d, --depth N            requests under way of a mount (32)\n"
	"  -c, --max-connections N  at one time (64)\n"
	"  -t, --timeout SECONDS    until a connection's first request (30)\n"
	"  -r, --rdma               serve mounts with trans=rdma instead\n"
	"  -h, --help               print this\n"
	"SERVER is HOST:PORT, or the path of a unix socket.\n";

static const struct option options[] = {
	{ "provider", required_argument, NULL, 'p' },
	{ "msize", required_argument, NULL, 'm' },
	{ "depth", required_argument, NULL, 'd' },
	{ "max-connections", required_argument, NULL, 'c' },
	{ "timeout", required_argument, NULL, 't' },
	{ "rdma", no_argument, NULL, 'r' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

#define CONNECTIONS_MAX 4096
#define TIMEOUT_S_MAX	3600
#define RARE_MS		10000
#define LINES_MOST	100 /* in RARE_MS */

/* What connections end with, too, can be brought about as often as anybody likes. */
static void say_line(const char *format, va_list args, unsigned long n_unsaid)
{
	static uint64_t next_ms;
	static unsigned long n_said, n_left_out;
	uint64_t now_ms = bridge_now_ms();

	flockfile(stderr);
	if (now_ms >= next_ms) {
		if (n_left_out)
			fprintf(stderr,
				"kfabric-9p-bridge: %lu lines were left out\n",
				n_left_out);
		next_ms = now_ms + RARE_MS;
		n_said = n_left_out = 0;
	}
	if (n_said < LINES_MOST) {
		n_said++;
		fputs("kfabric-9p-bridge: ", stderr);
		vfprintf(stderr, format, args);
		if (n_unsaid)
			fprintf(stderr, " (%lu more like it before)", n_unsaid);
		fputc('\n', stderr);
	} else {
		n_left_out++;
	}
	funlockfile(stderr);
}

void bridge_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_line(format, args, 0);
	va_end(args);
}

void bridge_say_rarely(struct bridge_rare *rare, const char *format, ...)
{
	uint64_t now_ms = bridge_now_ms();
	va_list args;

	if (now_ms < rare->next_ms) {
		rare->n_unsaid++;
		return;
	}
	va_start(args, format);
	say_line(format, args, rare->n_unsaid);
	va_end(args);
	rare->next_ms = now_ms + RARE_MS;
	rare->n_unsaid = 0;
}

uint64_t bridge_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool parse_number(const char *name, const char *text, uint32_t min,
			 uint32_t max, uint32_t *value)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] >= '0' && text[0] <= '9' && !*end && n >= min && n <= max) {
		*value = (uint32_t)n;
		return true;
	}
	bridge_say("--%s takes a number from %u to %u, not %s", name, min, max,
		   text);
	return false;
}

int main(int argc, char **argv)
{
	struct bridge_options o = { .provider = "verbs",
				    .msize = 65536,
				    .depth = 32,
				    .max_connections = 64,
				    .timeout_s = 30 };
	bool good = true;
	int c;

	while (good && (c = getopt_long(argc, argv, "p:m:d:c:t:rh", options,
					NULL)) != -1)
		switch (c) {
		case 'p':
			o.provider = optarg;
			break;
		case 'm':
			good = parse_number("msize", optarg, K9PW_MSIZE_MIN,
					    K9PW_MSIZE_MAX, &o.msize);
			break;
		case 'd':
			good = parse_number("depth", optarg, 1, K9PW_DEPTH_MAX,
					    &o.depth);
			break;
		case 'c':
			good = parse_number("max-connections", optarg, 1,
					    CONNECTIONS_MAX,
					    &o.max_connections);
			break;
		case 't':
			good = parse_number("timeout", optarg, 1, TIMEOUT_S_MAX,
					    &o.timeout_s);
			break;
		case 'r':
			o.is_plain = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			good = false;
		}
	if (!good || argc - optind != 3) {
		fputs(usage, stderr);
		return 2;
	}
	o.node = argv[optind];
	o.port = argv[optind + 1];
	o.server = argv[optind + 2];
	return bridge_listen(&o) ? 1 : 0;
}
