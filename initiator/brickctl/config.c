// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the user's configuration file.
 *
 * libinih cuts section and setting names at 49 characters and lines at the
 * size of its buffer without a word, and joins indented lines to the one
 * before. The reader below hands it a line only when it would take all of it,
 * and counts lines, which the handler is not told.
 */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/brickctl.h"
#include "kfb_scheme.h"
#include "kfb_text.h"

/* What fits into libinih's buffers for names. */
#define NAME_MAX_CHARS 49
#define SECTION	       "brickctl"
#define TIMEOUT_MAX_S  86400
#define MS_PER_S       1000

struct reading {
	FILE *file;
	const char *path;
	struct ctl_settings *settings;
	unsigned int line;
	unsigned int seen; /* settings met so far, by position in the table */
	int error;
	char *why;
	size_t why_size;
};

static void refuse_line(struct reading *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void refuse_line(struct reading *r, const char *format, ...)
{
	va_list args;
	int len;

	if (r->error)
		return;
	r->error = -EINVAL;
	len = snprintf(r->why, r->why_size, "%s:%u: ", r->path, r->line);
	if (len < 0 || (size_t)len >= r->why_size)
		return;
	va_start(args, format);
	vsnprintf(r->why + len, r->why_size - (size_t)len, format, args);
	va_end(args);
}

static void check_line(struct reading *r, const char *line)
{
	static const char bom[] = "\xef\xbb\xbf";
	size_t len;

	if (r->line == 1 && !strncmp(line, bom, strlen(bom)))
		line += strlen(bom);
	if (isspace((unsigned char)*line)) {
		line += strspn(line, " \t\r\n\v\f");
		if (*line && *line != ';' && *line != '#')
			refuse_line(r, "indented: a setting starts its line");
		return;
	}
	if (*line == ';' || *line == '#')
		return;
	len = *line == '[' ? strcspn(line + 1, "]\n") : strcspn(line, "=:\n");
	if (len > NAME_MAX_CHARS)
		refuse_line(r, "a name of more than %d characters",
			    NAME_MAX_CHARS);
}

/* For libinih: one line with its end, or NULL to stop. */
static char *read_line(char *line, int size, void *stream)
{
	struct reading *r = stream;
	int len = 0;
	int c;

	if (r->error)
		return NULL;
	r->line++;
	do {
		c = getc(r->file);
		if (c == EOF)
			break;
		if (!c)
			refuse_line(r, "a NUL byte");
		else if (len == size - 1)
			refuse_line(r, "a line of more than %d characters",
				    size - 2);
		if (r->error)
			return NULL;
		line[len++] = (char)c;
	} while (c != '\n');
	if (ferror(r->file)) {
		r->error = -EIO;
		snprintf(r->why, r->why_size, "%s: cannot be read", r->path);
	}
	if (r->error || !len)
		return NULL;
	line[len] = '\0';
	check_line(r, line);
	return r->error ? NULL : line;
}

/* The first to speak is right: the command line came before the file. */
static void take_value(char **to, char *value)
{
	if (*to)
		free(value);
	else
		*to = value;
}

static void set_brick(struct reading *r, const char *value)
{
	take_value(&r->settings->brick, strdup(value));
}

static void set_fabric(struct reading *r, const char *value)
{
	char known[KFB_SCHEMES_BYTES];

	if (!kfb_scheme(value, (__u32)strlen(value)))
		refuse_line(r, "fabric = %s: none of %s", value,
			    kfb_scheme_names(known));
	else
		take_value(&r->settings->fabric, strdup(value));
}

static void set_client(struct reading *r, const char *value)
{
	take_value(&r->settings->client, strdup(value));
}

/* A relative path starts at the configuration file's folder. */
static void set_key_file(struct reading *r, const char *value)
{
	const char *slash = strrchr(r->path, '/');
	const char *home = getenv("HOME");
	char *path = NULL;
	int len;

	if (!strncmp(value, "~/", 2) && home)
		len = asprintf(&path, "%s%s", home, value + 1);
	else if (*value == '/' || !slash)
		len = asprintf(&path, "%s", value);
	else
		len = asprintf(&path, "%.*s/%s", (int)(slash - r->path),
			       r->path, value);
	if (len >= 0)
		take_value(&r->settings->key_file, path);
}

static void set_timeout(struct reading *r, const char *value)
{
	__u64 seconds;

	if (kfb_size_parse(value, &seconds, NULL) || !seconds ||
	    seconds > TIMEOUT_MAX_S)
		refuse_line(
			r, "timeout = %s: not a number of seconds from 1 to %d",
			value, TIMEOUT_MAX_S);
	else if (!r->settings->timeout_ms)
		r->settings->timeout_ms = (uint32_t)seconds * MS_PER_S;
}

static const struct {
	const char *name;
	void (*set)(struct reading *r, const char *value);
} known[] = {
	{ "brick", set_brick },	    { "fabric", set_fabric },
	{ "client", set_client },   { "key-file", set_key_file },
	{ "timeout", set_timeout },
};

/* For libinih: 1 goes on, 0 is an error. */
static int take_setting(void *user, const char *section, const char *name,
			const char *value)
{
	struct reading *r = user;
	unsigned int i;

	if (strcmp(section, SECTION) != 0) {
		refuse_line(r, "[%s]: the only section is [" SECTION "]",
			    section);
		return 0;
	}
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(known[i].name, name))
			break;
	}
	if (i == sizeof(known) / sizeof(known[0]))
		refuse_line(r, "%s: no such setting", name);
	else if (r->seen & 1U << i)
		refuse_line(r, "%s: given twice", name);
	else if (!*value)
		refuse_line(r, "%s: empty", name);
	else
		known[i].set(r, value);
	r->seen |= 1U << i;
	return !r->error;
}

int ctl_config_read(const char *path, struct ctl_settings *settings, char *why,
		    size_t why_size)
{
	struct reading r = {
		.path = path,
		.settings = settings,
		.why = why,
		.why_size = why_size,
	};
	int line;

	r.file = fopen(path, "re");
	if (!r.file) {
		snprintf(why, why_size, "%s: %s", path, strerror(errno));
		return -errno;
	}
	line = ini_parse_stream(read_line, &r, take_setting, &r);
	fclose(r.file);
	if (!r.error && line > 0) {
		r.line = (unsigned int)line;
		refuse_line(&r, "neither [section] nor name = value");
	} else if (!r.error && line < 0) {
		r.error = -ENOMEM;
		snprintf(why, why_size, "%s: no memory", path);
	}
	return r.error;
}
