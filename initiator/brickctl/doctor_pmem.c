// SPDX-License-Identifier: BSD-2-Clause
/*
 * Persistent memory as sysfs shows it: regions, the namespaces in them, what
 * has gone bad, and the modules.
 */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

#define TEXT_BYTES   64
#define SECTOR_BYTES 512U

static DIR *open_bus(const struct doctor *d)
{
	char path[DOCTOR_PATH_BYTES];

	snprintf(path, sizeof(path), "%s/bus/nd/devices", d->sysfs);
	return opendir(path);
}

/* The next device of the bus that is called so and has a number. */
static const struct dirent *next_device(DIR *bus, const char *prefix)
{
	const struct dirent *entry;

	do
		entry = bus ? readdir(bus) : NULL;
	while (entry &&
	       (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
		strspn(entry->d_name + strlen(prefix), "0123456789.") !=
			strlen(entry->d_name + strlen(prefix))));
	return entry;
}

void doctor_check_regions(struct doctor *d)
{
	const struct dirent *entry;
	char domain[TEXT_BYTES];
	DIR *bus = open_bus(d);
	bool any = false;

	while ((entry = next_device(bus, "region"))) {
		any = true;
		doctor_read_attribute(domain, sizeof(domain),
				      "%s/bus/nd/devices/%s/persistence_domain",
				      d->sysfs, entry->d_name);
		doctor_platform(d, entry->d_name, domain);
	}
	if (bus)
		closedir(bus);
	if (!any)
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

	if (!doctor_read_attribute(size, sizeof(size),
				   "%s/bus/nd/devices/%s/size", d->sysfs,
				   name) ||
	    !strtoull(size, NULL, 10))
		return;
	doctor_read_attribute(mode, sizeof(mode), "%s/bus/nd/devices/%s/mode",
			      d->sysfs, name);
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
	const struct dirent *entry;
	DIR *bus = open_bus(d);

	while ((entry = next_device(bus, "namespace")))
		look_at_namespace(d, entry->d_name);
	if (bus)
		closedir(bus);
}

/* Lines of a first sector and a number of sectors, of 512 bytes. */
static uint64_t bad_sectors(const struct doctor *d, const char *region)
{
	char path[DOCTOR_PATH_BYTES], line[TEXT_BYTES], *rest;
	uint64_t sum = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/bus/nd/devices/%s/badblocks", d->sysfs,
		 region);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		(void)strtoull(line, &rest, 10);
		sum += strtoull(rest, NULL, 10);
	}
	fclose(file);
	return sum;
}

void doctor_check_bad_blocks(struct doctor *d)
{
	const struct dirent *entry;
	DIR *bus = open_bus(d);
	uint64_t n;

	while ((entry = next_device(bus, "region"))) {
		n = bad_sectors(d, entry->d_name);
		if (!n)
			doctor_found(d, DOCTOR_OK, NULL, "%s has no bad blocks",
				     entry->d_name);
		else
			doctor_found(
				d, DOCTOR_PROBLEM,
				"ndctl list -NM shows where; restart brickd: it repairs its tables and shows lost blocks in brickctl list; free those, then ndctl clear-errors NAMESPACE",
				"%s has %" PRIu64 " bytes in bad blocks",
				entry->d_name, n * SECTOR_BYTES);
	}
	if (bus)
		closedir(bus);
}

/* Words that a module's flags may have (Documentation/ABI, sysfs-bus-nfit). */
void doctor_check_modules(struct doctor *d)
{
	const struct dirent *entry;
	DIR *bus = open_bus(d);
	char flags[TEXT_BYTES];

	while ((entry = next_device(bus, "nmem"))) {
		if (!doctor_read_attribute(flags, sizeof(flags),
					   "%s/bus/nd/devices/%s/nfit/flags",
					   d->sysfs, entry->d_name))
			continue;
		if (!*flags)
			doctor_found(d, DOCTOR_OK, NULL,
				     "%s reports no trouble", entry->d_name);
		else
			doctor_found(
				d, DOCTOR_PROBLEM,
				"ndctl list -DH says more; copy the data away before the module is replaced",
				"%s reports: %s", entry->d_name, flags);
	}
	if (bus)
		closedir(bus);
}
