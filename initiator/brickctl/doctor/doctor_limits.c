// SPDX-License-Identifier: BSD-2-Clause
/*
 * Versions, and the limits of this process. Those of a unit are its own; the
 * advice says how to raise both.
 */
#include <inttypes.h>
#include <rdma/fabric.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "initiator/brickctl/doctor/doctor.h"

/* A brick of 256 sessions, each with some descriptors; clients need few. */
#define NOFILE_MIN 4096
/* What a client registers without being asked for more. */
#define MEMLOCK_MIN_BYTES (64ULL << 20)
#define CAP_IPC_LOCK_BIT  14

void doctor_check_versions(struct doctor *d)
{
	uint32_t fabric = fi_version();
	struct utsname name;

	if (uname(&name))
		snprintf(name.release, sizeof(name.release), "unknown");
	doctor_found(d, DOCTOR_OK, NULL,
		     "brickctl %s, libfabric %u.%u, kernel %s",
		     BRICKCTL_VERSION, FI_MAJOR(fabric), FI_MINOR(fabric),
		     name.release);
}

static bool may_lock_all(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long caps = 0;
	char line[256];

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "CapEff:", 7))
			caps = strtoull(line + 7, NULL, 16);
	}
	fclose(file);
	return caps >> CAP_IPC_LOCK_BIT & 1;
}

void doctor_check_memlock(struct doctor *d)
{
	char size[CTL_SIZE_TEXT_BYTES];
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_cur == RLIM_INFINITY || may_lock_all()) {
		doctor_found(d, DOCTOR_OK, NULL, "any amount may be locked");
		return;
	}
	ctl_size_text(size, limit.rlim_cur);
	if (!d->wants_rdma && !doctor_has_rdma(d))
		doctor_found(d, DOCTOR_OK, NULL,
			     "%s may be locked; tcp needs none", size);
	else if (limit.rlim_cur < MEMLOCK_MIN_BYTES)
		doctor_found(
			d, DOCTOR_PROBLEM,
			"ulimit -l unlimited; in a unit LimitMEMLOCK=infinity",
			"only %s may be locked: RDMA cannot register more, a brick not its store",
			size);
	else
		doctor_found(
			d, DOCTOR_NOTE,
			"ulimit -l unlimited; in a unit LimitMEMLOCK=infinity",
			"%s may be locked: a brick needs as much as its store has",
			size);
}

void doctor_check_nofile(struct doctor *d)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	if (limit.rlim_max < NOFILE_MIN)
		doctor_found(
			d, DOCTOR_PROBLEM,
			"ulimit -Hn 65536 as root; in a unit LimitNOFILE=65536",
			"at most %" PRIu64
			" open files: too few for a brick of many sessions",
			(uint64_t)limit.rlim_max);
	else
		doctor_found(d, DOCTOR_OK, NULL,
			     "%" PRIu64 " open files, at most %" PRIu64,
			     (uint64_t)limit.rlim_cur,
			     (uint64_t)limit.rlim_max);
}
