// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl attached: the disks that are attached, from sysfs.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/disk/attach.h"
#include "initiator/brickctl/base/table.h"

#define TEXT_BYTES 512

/* What is shown of a disk: attribute, and how JSON has it. */
static const struct attribute {
	const char *name;
	enum {
		TEXT,
		COUNT,
		BOOL,
		NUMBERS, /* words name=N: an object */
		LINES, /* lines of them: an array */
		TEXTS, /* a text a line: an array */
	} kind;
} attributes[] = {
	{ "state", TEXT },	  { "name", TEXT },
	{ "brick", TEXT },	  { "client", TEXT },
	{ "brick_uuid", TEXT },	  { "instance_id", TEXT },
	{ "power_epoch", COUNT }, { "path", TEXT },
	{ "flush_mode", TEXT },	  { "unsafe", BOOL },
	{ "base", TEXT },	  { "blocks", COUNT },
	{ "queues", COUNT },	  { "thin", BOOL },
	{ "shared", BOOL },	  { "last_error", TEXT },
	{ "retain", NUMBERS },	  { "map_cache", NUMBERS },
	{ "counters", LINES },	  { "addresses", TEXTS },
	{ "rate", NUMBERS },
};

#define N_ATTRIBUTES (sizeof(attributes) / sizeof(attributes[0]))

static const char *read_attribute(const char *disk, const char *name,
				  char text[TEXT_BYTES])
{
	ctl_read_line(text, TEXT_BYTES, CTL_SYS_BLOCK "/%.64s/kfbrick/%s", disk,
		      name);
	return text;
}

/* Cuts the line up. */
static struct json_object *split_numbers(char *line)
{
	struct json_object *object = json_object_new_object();
	char *at = line;
	char *word;

	while ((word = strsep(&at, " \n")) != NULL) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = '\0';
		ctl_json_count(object, word, strtoull(value, NULL, 10));
	}
	return object;
}

static struct json_object *read_lines(const char *disk,
				      const struct attribute *a)
{
	struct json_object *array = json_object_new_array();
	char text[TEXT_BYTES];
	FILE *file;

	snprintf(text, sizeof(text), CTL_SYS_BLOCK "/%.64s/kfbrick/%s", disk,
		 a->name);
	file = fopen(text, "re");
	while (file && fgets(text, sizeof(text), file)) {
		text[strcspn(text, "\n")] = '\0';
		json_object_array_add(
			array, a->kind == TEXTS ? json_object_new_string(text)
						: split_numbers(text));
	}
	if (file)
		fclose(file);
	return array;
}

static struct json_object *describe_disk(const char *disk)
{
	struct json_object *object = json_object_new_object();
	char text[TEXT_BYTES];
	char path[TEXT_BYTES];
	size_t i;

	snprintf(path, sizeof(path), "/dev/%.64s", disk);
	ctl_json_text(object, "device", path);
	for (i = 0; i < N_ATTRIBUTES; i++) {
		const struct attribute *a = &attributes[i];

		if (a->kind == LINES || a->kind == TEXTS) {
			json_object_object_add(object, a->name,
					       read_lines(disk, a));
			continue;
		}
		read_attribute(disk, a->name, text);
		if (a->kind == NUMBERS)
			json_object_object_add(object, a->name,
					       split_numbers(text));
		else if (a->kind == TEXT)
			ctl_json_text(object, a->name, text);
		else if (a->kind == COUNT)
			ctl_json_count(object, a->name,
				       strtoull(text, NULL, 10));
		else
			ctl_json_bool(object, a->name, *text == '1');
	}
	return object;
}

static void add_row(struct ctl_table *t, const char *disk)
{
	static const char *const words[] = { "name", "state", "brick", "base" };
	char size[CTL_SIZE_TEXT_BYTES];
	char text[TEXT_BYTES];
	size_t i;

	ctl_table_row(t);
	ctl_table_cell(t, "%s", disk);
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		ctl_table_cell(t, "%s", read_attribute(disk, words[i], text));
	read_attribute(disk, "blocks", text);
	ctl_size_text(size, ctl_blocks_bytes(strtoull(text, NULL, 10)));
	ctl_table_cell(t, "%s", size);
	ctl_table_cell(t, "%s", read_attribute(disk, "flush_mode", text));
}

static int run_attached(struct ctl *ctl, const struct ctl_args *args)
{
	static const char *const columns[] = { "DISK",	"NAME", "STATE",
					       "BRICK", "BASE", ">SIZE",
					       "FLUSH", NULL };
	struct json_object *list = json_object_new_array();
	struct dirent **found;
	struct ctl_table t;
	int i;
	int n;

	n = scandir(CTL_SYS_BLOCK, &found, ctl_is_disk, versionsort);
	if (n < 0 && errno != ENOENT) {
		json_object_put(list);
		return ctl_fail(ctl, CTL_USAGE, -errno,
				"see that it is mounted", CTL_SYS_BLOCK ": %s",
				strerror(errno));
	}
	if (!ctl->json)
		ctl_table_begin(&t, columns);
	for (i = 0; i < n; i++) {
		if (ctl->json)
			json_object_array_add(list,
					      describe_disk(found[i]->d_name));
		else
			add_row(&t, found[i]->d_name);
		free(found[i]);
	}
	if (n >= 0)
		free(found);
	if (!ctl->json) {
		json_object_put(list);
		return ctl_table_end(&t) ? ctl_no_memory(ctl) : CTL_DONE;
	}
	ctl_json_print(ctl_json_of("attached", list));
	return CTL_DONE;
}

const struct ctl_command ctl_cmd_attached = {
	.name = "attached",
	.synopsis = "",
	.summary = "Shows the disks that are attached",
	.details =
		"STATE is up, connecting (the connection is lost; requests wait), failed (brickctl\n"
		"reattach takes it up again), another of kfbrick(4)'s, or detaching. NAME is that of\n"
		"/dev/kfbrick/NAME.\n"
		"FLUSH is what makes writes durable. With --json there is more, such as why the\n"
		"connection was lost last.\n"
		"\n"
		"Example: brickctl attached",
	.run = run_attached,
};
