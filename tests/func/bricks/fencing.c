// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: the steps of a fence and of a reservation can be held. While the
 * folder HOLD has a file of that name, a thread waits, and says so: "write" before the
 * file of fences or reservations is written, "fences" or "reservations" before that
 * one is, "written" behind it, "reg" before a registration is made, "dereg" before it
 * is closed. With a file "fail" those files cannot be written once brickd has started;
 * with "fail-late" they are, and nobody knows whether durably. With a file "keep" the
 * next registration does not close, and the file is gone.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "brickd/net/fabric.h"
#include "brickd/reserve/reservations.h"
#include "brickd/session/fences.h"

#define PAUSE_NS 1000000
#define PATH_LEN 4096

int __real_brick_fences_write(const char *path, const char *text);
int __wrap_brick_fences_write(const char *path, const char *text);
int __real_brick_reservations_write(const char *path, const char *text);
int __wrap_brick_reservations_write(const char *path, const char *text);
int __real_brick_fabric_reg(const struct brick_fabric *fabric,
			    struct fid_domain *domain, void *base, size_t len,
			    bool write, struct brick_region *out);
int __wrap_brick_fabric_reg(const struct brick_fabric *fabric,
			    struct fid_domain *domain, void *base, size_t len,
			    bool write, struct brick_region *out);
int __real_brick_fabric_dereg(struct brick_region *region, const char *who);
int __wrap_brick_fabric_dereg(struct brick_region *region, const char *who);

static bool is_wanted(const char *what)
{
	const char *folder = getenv("HOLD");
	char path[PATH_LEN];

	if (!folder)
		return false;
	snprintf(path, sizeof(path), "%s/%s", folder, what);
	return !access(path, F_OK);
}

static void hold(const char *what)
{
	if (!is_wanted(what))
		return;
	fprintf(stderr, "held: %s\n", what);
	while (is_wanted(what))
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
}

static int write_held(const char *what, const char *path, const char *text,
		      int (*real)(const char *path, const char *text))
{
	int rc;

	hold("write");
	hold(what);
	rc = is_wanted("fail") ? -ENOSPC : real(path, text);
	if (is_wanted("fail-late"))
		rc = -EIO;
	hold("written");
	return rc;
}

int __wrap_brick_fences_write(const char *path, const char *text)
{
	return write_held("fences", path, text, __real_brick_fences_write);
}

int __wrap_brick_reservations_write(const char *path, const char *text)
{
	return write_held("reservations", path, text,
			  __real_brick_reservations_write);
}

int __wrap_brick_fabric_reg(const struct brick_fabric *fabric,
			    struct fid_domain *domain, void *base, size_t len,
			    bool write, struct brick_region *out)
{
	hold("reg");
	return __real_brick_fabric_reg(fabric, domain, base, len, write, out);
}

int __wrap_brick_fabric_dereg(struct brick_region *region, const char *who)
{
	char path[PATH_LEN];

	hold("dereg");
	if (is_wanted("keep")) {
		snprintf(path, sizeof(path), "%s/keep", getenv("HOLD"));
		if (!unlink(path))
			fprintf(stderr, "kept\n");
		return -EIO;
	}
	return __real_brick_fabric_dereg(region, who);
}
