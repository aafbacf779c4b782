// SPDX-License-Identifier: BSD-2-Clause
/*
 * Persistent memory as sysfs shows it: regions and the namespaces in them.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/doctor/doctor.h"

#define TEXT_BYTES 64

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
