// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickd's self-test alone: selftest-fabric ADDRESS [cached]
 *
 * With "cached" libfabric's registration cache is on, which brickd never has
 * on: there the test must fail. Prints what it found. Exit status 0: passed,
 * 1: a key was not refused, 3: it could not be carried out.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/net/devices.h"
#include "brickd/net/fabric.h"
#include "brickd/net/selftest.h"

static int report(struct brick_fabric *f, int rc, const char *err)
{
	if (rc)
		fprintf(stderr, "%s\n", err);
	for (uint32_t i = 0; i < f->n_devices; i++)
		printf("tested %s\n", f->devices[i]->domain_attr->name);
	if (!rc)
		return 0;
	return rc == -EKEYREJECTED ? 1 : 3;
}

int main(int argc, char **argv)
{
	static struct brick_address address;
	static struct brick_fabric fabric;
	char err[512] = "";
	int rc;

	brick_fabric_prepare();
	if (argc == 3 && !strcmp(argv[2], "cached")) {
		setenv("FI_MR_CACHE_MAX_COUNT", "1024", 1);
		setenv("FI_MR_CACHE_MONITOR", "memhooks", 1);
	} else if (argc != 2) {
		fprintf(stderr, "usage: %s ADDRESS [cached]\n", argv[0]);
		return 2;
	}
	fabric.address = &address;
	rc = brick_address_parse(argv[1], &address, err, sizeof(err));
	if (!rc)
		rc = brick_fabric_open(&fabric, false, err, sizeof(err));
	if (rc) {
		fprintf(stderr, "%s\n", err);
		return 3;
	}
	rc = brick_selftest(&fabric, err, sizeof(err));
	rc = report(&fabric, rc, err);
	brick_fabric_close(&fabric);
	return rc;
}
