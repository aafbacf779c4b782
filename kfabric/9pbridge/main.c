// SPDX-License-Identifier: BSD-2-Clause
/* kfabric-9p-bridge: the command line. */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "bridge.h"
#include "kfabric/9p/k9p_wire.h"

static const char usage[] =
	"Usage: kfabric-9p-bridge [OPTION...] ADDRESS PORT SERVER\n"
	"Carries 9P from mounts with trans=kfabric to a 9P server.\n"
	"  -p, --provider PROVIDER  verbs (default), tcp or stcp\n"
	"  -m, --msize BYTES        longest message (65536)\n"
	"  -d, --depth N            requests under way of a mount (32)\n"
	"  -r, --rdma               serve mounts with trans=rdma instead\n"
	"  -h, --help               print this\n"
	"SERVER is HOST:PORT, or the path of a unix socket.\n";

static const struct option options[] = {
	{ "provider", required_argument, NULL, 'p' },
	{ "msize", required_argument, NULL, 'm' },
	{ "depth", required_argument, NULL, 'd' },
	{ "rdma", no_argument, NULL, 'r' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

void bridge_say(const char *format, ...)
{
	va_list args;

	flockfile(stderr);
	fputs("kfabric-9p-bridge: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	funlockfile(stderr);
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
				    .depth = 32 };
	bool good = true;
	int c;

	while (good &&
	       (c = getopt_long(argc, argv, "p:m:d:rh", options, NULL)) != -1)
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
