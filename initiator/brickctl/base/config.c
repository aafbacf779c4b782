// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the user's configuration file.
 */
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ini_lines.h"
#include "initiator/brickctl/base/brickctl.h"
#include "kfb_scheme.h"
#include "kfb_text.h"

#define SECTION	      "brickctl"
#define TIMEOUT_MAX_S 86400
#define MS_PER_S      1000

struct reading {
	struct ini_lines lines;
	const char *path;
	struct ctl_settings *settings;
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
	len = snprintf(r->why, r->why_size, "%s:%u: ", r->path, r->lines.line);
	if (len < 0 || (size_t)len >= r->why_size)
		return;
	va_start(args, format);
	vsnprintf(r->why + len, r->why_size - (size_t)len, format, args);
	va_end(args);
}

static char *next_line(char *line, int size, void *stream)
{
	struct reading *r = stream;

	return r->error ? NULL : ini_lines_read(line, size, &r->lines);
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

static void set_untrusted(struct reading *r, const char *value)
{
	if (!strcmp(value, "yes"))
		r->settings->allow_untrusted_tcp = true;
	else if (strcmp(value, "no") != 0)
		refuse_line(r, "allow-untrusted-tcp = %s: neither yes nor no",
			    value);
}

static const struct {
	const char *name;
	void (*set)(struct reading *r, const char *value);
} known[] = {
	{ "brick", set_brick },	    { "fabric", set_fabric },
	{ "client", set_client },   { "key-file", set_key_file },
	{ "timeout", set_timeout }, { "allow-untrusted-tcp", set_untrusted },
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
	int rc;

	r.lines.file = fopen(path, "re");
	if (!r.lines.file) {
		snprintf(why, why_size, "%s: %s", path, strerror(errno));
		return -errno;
	}
	rc = ini_parse_stream(next_line, &r, take_setting, &r);
	if (r.lines.error) {
		refuse_line(&r, "%s", r.lines.error);
	} else if (!r.error && rc > 0) {
		r.lines.line = (unsigned int)rc;
		refuse_line(&r, "neither [section] nor name = value");
	} else if (!r.error && (rc < 0 || ferror(r.lines.file))) {
		r.error = rc < 0 ? -ENOMEM : -EIO;
		snprintf(why, why_size, "%s: %s", path,
			 rc < 0 ? "no memory" : "cannot be read");
	}
	fclose(r.lines.file);
	return r.error;
}
