/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * brickctl doctor: checks, and what they find.
 *
 * A check is a function and a row of the table in cmd_doctor.c. It only looks:
 * nothing it does changes the machine, a store or a brick. It reports each
 * thing it finds, with the command that helps when there is something to do.
 */
#ifndef BRICKCTL_DOCTOR_H
#define BRICKCTL_DOCTOR_H

#include "initiator/brickctl/base/brickctl.h"

#define DOCTOR_PATH_BYTES 4096

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_NOTE, /* a fact that limits what can be promised */
	DOCTOR_PROBLEM, /* something to do: the exit status is 1 */
	DOCTOR_LEVELS
};

/**
 * struct doctor - one examination
 * @ctl: settings; not connected
 * @store: path of the store, or NULL
 * @sysfs: where sysfs is: /sys, or a copy of one
 * @settings_error: 0, or why no brick could be named, -errno
 * @settings: the same in words
 * @wants_rdma: the brick is reached by RDMA
 * @has_answered: the brick has said what it is
 * @check: name of the check that runs
 * @findings: of all, for --json
 * @counts: findings of each level
 */
struct doctor {
	struct ctl *ctl;
	const char *store;
	const char *sysfs;
	int settings_error;
	struct ctl_caught settings;
	bool wants_rdma;
	bool has_answered;
	const char *check;
	struct json_object *findings;
	unsigned int counts[DOCTOR_LEVELS];
};

struct doctor_check {
	const char *name; /* "limits.nofile" */
	void (*run)(struct doctor *d);
};

/* doctor_found.c */

/**
 * doctor_found - report a finding
 * @d: examination
 * @level: what it means
 * @next: what to do, a command where there is one; NULL: nothing
 * @format: what was found, without a full stop
 */
void doctor_found(struct doctor *d, enum doctor_level level, const char *next,
		  const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/**
 * doctor_look_at - look at the entries of a folder of sysfs
 * @d: examination
 * @folder: in sysfs
 * @prefix: what the names begin with, a number behind it; "": all names
 * @look: is called for each, or NULL
 *
 * Return: how many there are.
 */
unsigned int doctor_look_at(struct doctor *d, const char *folder,
			    const char *prefix,
			    void (*look)(struct doctor *d, const char *name));

/* doctor_limits.c */
void doctor_check_versions(struct doctor *d);
void doctor_check_memlock(struct doctor *d);
void doctor_check_nofile(struct doctor *d);

/* doctor_fabric.c */
void doctor_check_devices(struct doctor *d);
void doctor_check_nodes(struct doctor *d);
/* A check of each scheme of addresses. */
void doctor_check_schemes(struct doctor *d);
/* Whether the machine has an RDMA device. */
bool doctor_has_rdma(struct doctor *d);

/* doctor_pmem.c */
void doctor_check_regions(struct doctor *d);
void doctor_check_namespaces(struct doctor *d);

/**
 * doctor_platform - what a region of persistent memory keeps
 * @d: examination
 * @name: of the region, for people
 * @domain: its persistence domain as sysfs says it, "" when it does not
 */
void doctor_platform(struct doctor *d, const char *name, const char *domain);

/* doctor_store.c */
void doctor_check_store(struct doctor *d);

/* doctor_brick.c; in this order */
void doctor_check_brick(struct doctor *d);
void doctor_check_path(struct doctor *d);

#endif
