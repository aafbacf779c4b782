// SPDX-License-Identifier: BSD-2-Clause
/*
 * Values on the command line: ranges and numbers, and what is wrong with them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/base/brickctl.h"
#include "kfb_text.h"

#define OPTION_BYTES 64

static int refuse_value(struct ctl *ctl, const char *what, const char *text,
			int err, unsigned int error_at)
{
	return ctl_usage(ctl, "%s \"%s\", character %u: %s", what, text,
			 error_at + 1, kfb_text_why(err));
}

int ctl_read_range(struct ctl *ctl, const char *text, uint64_t *va,
		   uint64_t *n_blocks)
{
	unsigned int error_at;
	__u64 blocks;
	__u64 first;
	int err;

	err = kfb_range_parse(text, &first, &blocks, &error_at);
	if (err)
		return refuse_value(ctl, "range", text, err, error_at);
	*va = first;
	*n_blocks = blocks;
	return CTL_DONE;
}

int ctl_read_number(struct ctl *ctl, const char *what, const char *text,
		    uint64_t least, uint64_t most, uint64_t *value)
{
	unsigned int error_at;
	__u64 number;
	int err;

	err = kfb_size_parse(text, &number, &error_at);
	if (err)
		return refuse_value(ctl, what, text, err, error_at);
	if (number > most)
		return ctl_usage(ctl, "%s \"%s\": at most %" PRIu64, what, text,
				 most);
	if (number < least)
		return ctl_usage(ctl, "%s \"%s\": at least %" PRIu64, what,
				 text, least);
	*value = number;
	return CTL_DONE;
}

int ctl_read_option(struct ctl *ctl, const struct ctl_args *args, int option,
		    uint64_t least, uint64_t most, uint64_t *value)
{
	const char *text = args->options[option];
	char what[OPTION_BYTES];

	if (!text)
		return CTL_DONE;
	snprintf(what, sizeof(what), "--%s",
		 ctl->command->options[option].name);
	return ctl_read_number(ctl, what, text, least, most, value);
}

int ctl_read_id(struct ctl *ctl, const char *what, const char *text,
		uint64_t *id)
{
	/* Sixteen digits are hexadecimal, also where they could be decimal. */
	if (strspn(text, "0123456789abcdefABCDEF") != CTL_ID_TEXT_BYTES - 1 ||
	    text[CTL_ID_TEXT_BYTES - 1])
		return ctl_read_number(ctl, what, text, 0, UINT64_MAX, id);
	*id = strtoull(text, NULL, 16);
	return CTL_DONE;
}
