// SPDX-License-Identifier: BSD-2-Clause
/* Lines for libinih, counted and checked. */
#include "common/ini_lines.h"

#include <stdbool.h>
#include <string.h>

/* inih 55: INI_MAX_LINE is 200 and MAX_SECTION 50, both with the NUL. */
#define LINE_MAX_CHARS	  198
#define SECTION_MAX_CHARS 49

static bool is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Some editors begin UTF-8 files with a byte order mark. */
static const unsigned char BOM[] = { 0xef, 0xbb, 0xbf };

/* Reads one line without its newline. Return: length, -1 end, -2 error. */
static int read_line(struct ini_lines *r, char *buf, int max)
{
	int c, len = 0;

	c = getc(r->file);
	if (c == EOF)
		return -1;
	r->line++;
	if (r->line == 1 && c == BOM[0] && getc(r->file) == BOM[1] &&
	    getc(r->file) == BOM[2])
		c = getc(r->file);
	for (; c != EOF && c != '\n'; c = getc(r->file)) {
		if (!len && is_blank(c))
			continue;
		if (c == '\0' || (c < ' ' && !is_blank(c)) || c == 0x7f) {
			r->error = "control character";
			return -2;
		}
		if (len >= max) {
			r->error = "line is longer than 198 characters";
			return -2;
		}
		buf[len++] = (char)c;
	}
	while (len && is_blank(buf[len - 1]))
		len--;
	return len;
}

static int check_section(struct ini_lines *r, const char *line)
{
	char name[SECTION_MAX_CHARS + 1];
	const char *end = strchr(line, ']');
	const char *rest;
	size_t len;

	if (!end) {
		r->error = "section without a closing bracket";
		return -1;
	}
	len = (size_t)(end - line - 1);
	if (len > SECTION_MAX_CHARS) {
		r->error = "section name is longer than 49 characters";
		return -1;
	}
	for (rest = end + 1; is_blank(*rest); rest++)
		;
	if (*rest && *rest != ';' && *rest != '#') {
		r->error = "text after the section's closing bracket";
		return -1;
	}
	memcpy(name, line + 1, len);
	name[len] = '\0';
	return r->section ? r->section(r->ctx, name) : 0;
}

char *ini_lines_read(char *buf, int size, void *reader)
{
	struct ini_lines *r = reader;
	int max = size - 2 < LINE_MAX_CHARS ? size - 2 : LINE_MAX_CHARS;
	int len;

	if (r->error)
		return NULL;
	len = read_line(r, buf, max);
	if (len < 0)
		return NULL;
	buf[len] = '\0';
	if (buf[0] == '[' && check_section(r, buf))
		return NULL;
	buf[len++] = '\n';
	buf[len] = '\0';
	return buf;
}
