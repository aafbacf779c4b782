// SPDX-License-Identifier: BSD-2-Clause
/*
 * What all checks do: look into sysfs, and report.
 */
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "initiator/brickctl/doctor/doctor.h"

#define MESSAGE_BYTES 1024

static const char *const level_names[DOCTOR_LEVELS] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_NOTE] = "note",
	[DOCTOR_PROBLEM] = "problem",
};

void doctor_found(struct doctor *d, enum doctor_level level, const char *next,
		  const char *format, ...)
{
	struct json_object *object;
	char message[MESSAGE_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	d->counts[level]++;
	if (!d->ctl->json) {
		printf("%-7s  %-20s  %s\n", level_names[level], d->check,
		       message);
		if (next)
			printf("%-7s  %-20s  do: %s\n", "", "", next);
		return;
	}
	object = json_object_new_object();
	ctl_json_text(object, "check", d->check);
	ctl_json_text(object, "level", level_names[level]);
	ctl_json_text(object, "message", message);
	if (next)
		ctl_json_text(object, "next", next);
	json_object_array_add(d->findings, object);
}

unsigned int doctor_look_at(struct doctor *d, const char *folder,
			    const char *prefix,
			    void (*look)(struct doctor *d, const char *name))
{
	const size_t len = strlen(prefix);
	char path[DOCTOR_PATH_BYTES];
	const struct dirent *entry;
	unsigned int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", d->sysfs, folder);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (*name == '.' || strncmp(name, prefix, len) != 0 ||
		    (len && name[len + strspn(name + len, "0123456789.")]))
			continue;
		if (look)
			look(d, name);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}
