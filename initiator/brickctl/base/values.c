// SPDX-License-Identifier: BSD-2-Clause
/*
 * Values on the command line: ranges and numbers, and what is wrong with them.
 */
#include <inttypes.h>

#include "initiator/brickctl/base/brickctl.h"
#include "kfb_text.h"

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
		    uint64_t max, uint64_t *value)
{
	unsigned int error_at;
	__u64 number;
	int err;

	err = kfb_size_parse(text, &number, &error_at);
	if (err)
		return refuse_value(ctl, what, text, err, error_at);
	if (number > max)
		return ctl_usage(ctl, "%s \"%s\": at most %" PRIu64, what, text,
				 max);
	*value = number;
	return CTL_DONE;
}

int ctl_read_id(struct ctl *ctl, const char *what, const char *text,
		uint64_t *id)
{
	uint64_t value = 0;
	unsigned int i;

	/* Sixteen digits are hexadecimal, also where they could be decimal. */
	for (i = 0; i < CTL_ID_TEXT_BYTES - 1; i++) {
		int digit = kfb_digit_value(text[i], 16);

		if (digit < 0)
			return ctl_read_number(ctl, what, text, UINT64_MAX, id);
		value = value << 4 | (uint64_t)digit;
	}
	if (text[i])
		return ctl_read_number(ctl, what, text, UINT64_MAX, id);
	*id = value;
	return CTL_DONE;
}
