// SPDX-License-Identifier: BSD-2-Clause
/*
 * How values look: sizes, names and ids for people, the same in JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "initiator/brickctl/base/brickctl.h"

const char *ctl_size_text(char text[CTL_SIZE_TEXT_BYTES], uint64_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB",
					     "TiB",   "PiB", "EiB" };
	uint64_t unit_bytes = 1;
	unsigned int unit = 0;

	while (bytes / unit_bytes >= 1024) {
		unit_bytes <<= 10;
		unit++;
	}
	if (bytes % unit_bytes)
		snprintf(text, CTL_SIZE_TEXT_BYTES, "%.1f %s",
			 (double)bytes / (double)unit_bytes, units[unit]);
	else
		snprintf(text, CTL_SIZE_TEXT_BYTES, "%" PRIu64 " %s",
			 bytes / unit_bytes, units[unit]);
	return text;
}

const char *ctl_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

uint64_t ctl_blocks_bytes(uint64_t n_blocks)
{
	if (n_blocks > UINT64_MAX / KFBRICK_BLOCK_BYTES)
		return UINT64_MAX;
	return n_blocks * KFBRICK_BLOCK_BYTES;
}

const char *ctl_blocks_text(char text[CTL_BLOCKS_TEXT_BYTES], uint64_t n_blocks)
{
	char size[CTL_SIZE_TEXT_BYTES];

	snprintf(text, CTL_BLOCKS_TEXT_BYTES, "%" PRIu64 " (%s)", n_blocks,
		 ctl_size_text(size, ctl_blocks_bytes(n_blocks)));
	return text;
}

bool ctl_read_line(char *text, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	FILE *file;
	bool got;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	*text = '\0';
	file = fopen(path, "re");
	if (!file)
		return false;
	got = fgets(text, (int)size, file) != NULL;
	fclose(file);
	text[got ? strcspn(text, "\n") : 0] = '\0';
	return got;
}

const char *ctl_flush_name(uint32_t flush_mode)
{
	switch (flush_mode) {
	case KFBRICK_FLUSH_NONE:
		return "none";
	case KFBRICK_FLUSH_MESSAGE:
		return "message";
	case KFBRICK_FLUSH_READBACK:
		return "readback";
	case KFBRICK_FLUSH_COMMIT:
		return "commit";
	case KFBRICK_FLUSH_NATIVE:
		return "native";
	default:
		return "unknown";
	}
}

void ctl_json_hex(struct json_object *object, const char *name, uint64_t value)
{
	char text[sizeof("0x") + 16];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	ctl_json_text(object, name, text);
}

void ctl_json_id(struct json_object *object, const char *name, uint64_t id)
{
	char text[CTL_ID_TEXT_BYTES];

	ctl_json_text(object, name, ctl_id_text(text, id));
}

const char *ctl_id_text(char text[CTL_ID_TEXT_BYTES], uint64_t id)
{
	snprintf(text, CTL_ID_TEXT_BYTES, "%016" PRIx64, id);
	return text;
}

void ctl_json_count(struct json_object *object, const char *name,
		    uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

void ctl_json_bool(struct json_object *object, const char *name, bool value)
{
	json_object_object_add(object, name, json_object_new_boolean(value));
}

void ctl_json_text(struct json_object *object, const char *name,
		   const char *value)
{
	json_object_object_add(object, name, json_object_new_string(value));
}

struct json_object *ctl_json_of(const char *name, struct json_object *member)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, name, member);
	return object;
}

const char *ctl_json_line(struct json_object *object)
{
	return json_object_to_json_string_ext(
		object,
		JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

void ctl_json_print_to(FILE *file, struct json_object *object)
{
	ctl_json_count(object, "schema", CTL_JSON_SCHEMA);
	fprintf(file, "%s\n", ctl_json_line(object));
	json_object_put(object);
}

void ctl_json_print(struct json_object *object)
{
	ctl_json_print_to(stdout, object);
}

int ctl_done(struct ctl *ctl, struct json_object *object, const char *format,
	     ...)
{
	va_list args;

	if (ctl->json) {
		ctl_json_print(object);
		return CTL_DONE;
	}
	json_object_put(object);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	return CTL_DONE;
}

int ctl_write_full(int fd, const void *from, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = write(fd, (const char *)from + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}
