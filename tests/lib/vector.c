// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads hex files: a line that ends in a colon names the bytes that follow, two hex
 * digits each; # begins a comment.
 */
#include "tests/lib/vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static size_t read_line(const char *line, uint8_t *buf, size_t at, size_t cap)
{
	for (line += strspn(line, " "); *line; line += strspn(line, " ")) {
		char *end;
		unsigned long byte = strtoul(line, &end, 16);

		if (end != line + 2 || byte > 0xff)
			fail_msg("not two hex digits: %s", line);
		if (at == cap)
			fail_msg("more than %zu bytes", cap);
		buf[at++] = (uint8_t)byte;
		line = end;
	}
	return at;
}

size_t vector_read(const char *file, const char *name, void *buf, size_t cap)
{
	const char *folder = getenv("VECTORS");
	char path[4096], line[256];
	int wanted = 0;
	size_t len = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s.hex", folder ? folder : "",
		       file);
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot read %s (VECTORS names the folder)", path);
	while (fgets(line, sizeof(line), f)) {
		char *colon;

		line[strcspn(line, "#\n")] = '\0';
		colon = strchr(line, ':');
		if (colon) {
			*colon = '\0';
			wanted = strcmp(line, name) == 0;
		} else if (wanted) {
			len = read_line(line, buf, len, cap);
		}
	}
	(void)fclose(f);
	if (len == 0)
		fail_msg("%s has no bytes called %s", path, name);
	return len;
}
