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

int brick_usage_error(const char *command, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "brickd: %s%s", command ? command : "",
		command ? ": " : "");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "; try brickd%s%s --help\n", command ? " " : "",
		command ? command : "");
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
