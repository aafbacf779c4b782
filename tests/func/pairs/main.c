// SPDX-License-Identifier: BSD-2-Clause
/*
 * pair list | pair serve PROVIDER CASE | pair connect PROVIDER CASE PORT
 *
 * Two of them try one case of what libfabric's programs do with a provider.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

struct pair_end end;

static const struct pair_case *const tables[] = {
	pair_msg_cases,
	pair_flag_cases,
	pair_rma_cases,
	pair_rdm_cases,
};
#define N_TABLES (sizeof(tables) / sizeof(tables[0]))

_Noreturn void pair_die(long rc, const char *what)
{
	fprintf(stderr, "%s %s: %s%s%s\n", end.serves ? "server" : "client",
		end.test ? end.test->name : "", what, rc ? ": " : "",
		rc ? fi_strerror((int)-rc) : "");
	exit(1);
}

static void list(void)
{
	for (size_t i = 0; i < N_TABLES; i++)
		for (const struct pair_case *c = tables[i]; c->name; c++)
			printf("%s %s\n", c->name,
			       c->type == FI_EP_MSG ? "msg" : "rdm");
}

static const struct pair_case *find(const char *name)
{
	for (size_t i = 0; i < N_TABLES; i++)
		for (const struct pair_case *c = tables[i]; c->name; c++)
			if (!strcmp(c->name, name))
				return c;
	pair_die(0, "no such case");
}

int main(int argc, char **argv)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&end.there;

	if (argc == 2 && !strcmp(argv[1], "list")) {
		list();
		return 0;
	}
	if (argc < 4 || (strcmp(argv[1], "serve") != 0 && argc < 5)) {
		fprintf(stderr, "usage: pair list | serve PROVIDER CASE | "
				"connect PROVIDER CASE PORT\n");
		return 2;
	}
	end.serves = !strcmp(argv[1], "serve");
	end.provider = argv[2];
	end.test = find(argv[3]);
	if (!end.serves) {
		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		sin->sin_port = htons((uint16_t)strtoul(argv[4], NULL, 10));
	}
	end.out = calloc(1, PAIR_BYTES);
	if (!end.out)
		pair_die(-FI_ENOMEM, "memory");
	end.in = end.out + PAIR_HALF;
	if (end.test->whole) {
		end.test->whole();
		return 0;
	}
	pair_connect();
	end.test->run();
	if (end.ep)
		pair_meet();
	pair_finish();
	return 0;
}
