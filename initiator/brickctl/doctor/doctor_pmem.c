// SPDX-License-Identifier: BSD-2-Clause
/*
 * Persistent memory as sysfs shows it: regions and the namespaces in them, and what
 * the platform below keeps when the power goes.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/doctor/doctor.h"

#define TEXT_BYTES 64
#define DEVICES	   "bus/nd/devices"

void doctor_platform(struct doctor *d, const char *name, const char *domain)
{
	if (!strcmp(domain, "cpu_cache"))
		doctor_found(d, DOCTOR_OK, NULL,
			     "%s: the CPU's caches survive a loss of power",
			     name);
	else if (!strcmp(domain, "memory_controller"))
		doctor_found(
			d, DOCTOR_NOTE,
			"nothing is needed: brickd takes DDIO for on and flushes the caches itself (flush mode message)",
			"%s: what has reached the memory controller survives, the CPU's caches do not; whether network cards write into the caches (DDIO) cannot be found out",
			name);
	else
		doctor_found(
			d, DOCTOR_PROBLEM,
			"ndctl list -RN, and the firmware's settings; keep nothing here that must last",
			"%s: the platform does not say what survives a loss of power%s%s",
			name, *domain ? ": " : "", domain);
}

static void look_at_region(struct doctor *d, const char *name)
{
	char domain[TEXT_BYTES];

	ctl_read_line(domain, sizeof(domain),
		      "%s/" DEVICES "/%s/persistence_domain", d->sysfs, name);
	doctor_platform(d, name, domain);
}

void doctor_check_regions(struct doctor *d)
{
	if (!doctor_look_at(d, DEVICES, "region", look_at_region))
		doctor_found(
			d, DOCTOR_NOTE,
			"brickctl format FILE --size SIZE makes a store in a file",
			"this machine has no persistent memory: a brick here keeps its blocks in a file, each flush is an fdatasync");
}

static void look_at_namespace(struct doctor *d, const char *name)
{
	char way[NAME_MAX + TEXT_BYTES];
	char mode[TEXT_BYTES];
	char size[TEXT_BYTES];

	if (!ctl_read_line(size, sizeof(size), "%s/" DEVICES "/%s/size",
			   d->sysfs, name) ||
	    !strtoull(size, NULL, 10))
		return;
	ctl_read_line(mode, sizeof(mode), "%s/" DEVICES "/%s/mode", d->sysfs,
		      name);
	if (!strcmp(mode, "dax")) {
		doctor_found(d, DOCTOR_OK, NULL, "%s is in devdax mode", name);
		return;
	}
	snprintf(way, sizeof(way),
		 "ndctl create-namespace -f -e %s -m devdax -a 2M", name);
	doctor_found(
		d, DOCTOR_NOTE, way,
		"%s is in %s mode: for a brick it should be devdax (changing it destroys what it holds)",
		name, !strcmp(mode, "memory") ? "fsdax" : mode);
}

void doctor_check_namespaces(struct doctor *d)
{
	doctor_look_at(d, DEVICES, "namespace", look_at_namespace);
}
