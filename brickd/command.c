// SPDX-License-Identifier: BSD-2-Clause
/* What the daemon's commands share: what is wrong with a command line. */
#include "brickd/command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/admin/admin_put.h"
#include "brickd/config/config.h"
#include "brickd/media/media.h"
#include "brickd/platform/platform.h"
#include "proto/kfb_text.h"

static bool wants_json;

bool brick_command_wants_json(void)
{
	return wants_json;
}

void brick_command_begin(int argc, char *const *argv)
{
	/* Before options are read: what is wrong with them is told so, too. */
	for (int i = 1; i < argc; i++)
		wants_json |= !strcmp(argv[i], "--json");
}

struct json_object *brick_command_object(void)
{
	struct json_object *object = json_object_new_object();

	brick_admin_put_count(object, "schema", BRICK_COMMAND_SCHEMA);
	return object;
}

void brick_command_print(FILE *to, struct json_object *object)
{
	fprintf(to, "%s\n",
		json_object_to_json_string_ext(
			object, JSON_C_TO_STRING_PLAIN |
					JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

static void print_error(const char *command, int status, int error,
			const char *next, const char *message)
{
	struct json_object *outer, *inner;

	brick_command_hide_progress();
	if (!wants_json) {
		fprintf(stderr, "brickd: %s%s%s%s%s\n", command ? command : "",
			command ? ": " : "", message, next ? "; " : "",
			next ? next : "");
		return;
	}
	outer = brick_command_object();
	inner = json_object_new_object();
	if (command)
		brick_admin_put_text(inner, "command", command);
	brick_admin_put_text(inner, "message", message);
	if (next)
		brick_admin_put_text(inner, "next", next);
	if (error && strerrorname_np(-error))
		brick_admin_put_text(inner, "errno", strerrorname_np(-error));
	brick_admin_put_count(inner, "exit", (uint64_t)status);
	json_object_object_add(outer, "error", inner);
	brick_command_print(stderr, outer);
}

int brick_command_fail(const char *command, int status, int error,
		       const char *message)
{
	print_error(command, status, error, NULL,
		    *message ? message : strerror(-error));
	return status;
}

int brick_usage_error(const char *command, const char *fmt, ...)
{
	char message[BRICK_ERR_BYTES], next[64];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	(void)snprintf(next, sizeof(next), "try brickd%s%s --help",
		       command ? " " : "", command ? command : "");
	print_error(command, BRICK_EXIT_USAGE, -EINVAL, next, message);
	return BRICK_EXIT_USAGE;
}

int brick_option_error(const char *command, int opt, char *const *argv,
		       const struct option *options)
{
	if (opt == ':')
		return brick_usage_error(command, "%s needs a value",
					 argv[optind - 1]);
	/* Of a flag that was given a value optopt is what it returns. */
	while (optopt && options->name && options->val != optopt)
		options++;
	if (optopt && options->name)
		return brick_usage_error(command, "--%s takes no value",
					 options->name);
	/* One letter of several in a word is named by itself. */
	if (optopt)
		return brick_usage_error(command, "-%c: no such option",
					 optopt);
	return brick_usage_error(command, "%s: no such option",
				 argv[optind - 1]);
}

int brick_size_option(const char *command, const char *option, const char *text,
		      uint64_t *size)
{
	__u64 value;

	if (kfb_size_parse(text, &value, NULL) || !value)
		return brick_usage_error(command,
					 "%s %s: needs a number, like 64G",
					 option, text);
	*size = value;
	return -1;
}

int brick_command_open_media(const char *path,
			     const struct brick_media_create *create,
			     struct brick_media **out, char *err,
			     size_t err_len)
{
	struct brick_platform platform;
	int rc;

	rc = brick_media_open(path, create, out, err, err_len);
	if (rc)
		return rc;
	rc = brick_platform_read(*out, &platform);
	/* Whether a battery keeps it the settings say, and a start looks again. */
	if (!rc && platform.backing == BRICK_BACKING_MEMORY)
		(*out)->is_volatile = true;
	brick_platform_fini(&platform);
	if (rc)
		brick_media_discard(*out);
	return rc;
}

int brick_path_argument(const char *command, int argc, char *const *argv,
			const char **path)
{
	if (optind != argc - 1)
		return brick_usage_error(command, "it needs one PATH");
	*path = argv[optind];
	return -1;
}

int brick_parse_fd(const char *text, int *fd)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < 0 || value > INT32_MAX ||
	    fcntl((int)value, F_GETFD) < 0)
		return -EINVAL;
	*fd = (int)value;
	return 0;
}
