// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads numbers with suffixes and ranges of blocks.
 */
#include <linux/errno.h>
#include <linux/types.h>

#include "kfb_text.h"
#include "kfb_wire.h"

#define TEXT_U64_MAX (~0ULL)

/* What is left of a text; start stays for the error's offset. */
struct cursor {
	const char *start;
	const char *at;
};

struct number {
	__u64 value;
	_Bool has_suffix;
};

int kfb_digit_value(char c, unsigned int base)
{
	unsigned int digit;

	if (c >= '0' && c <= '9')
		digit = (unsigned int)(c - '0');
	else if (c >= 'a' && c <= 'f')
		digit = (unsigned int)(c - 'a') + 10;
	else if (c >= 'A' && c <= 'F')
		digit = (unsigned int)(c - 'A') + 10;
	else
		return -EINVAL;
	return digit < base ? (int)digit : -EINVAL;
}

static unsigned int kfb_text_suffix_shift(char c)
{
	switch (c) {
	case 'k':
	case 'K':
		return 10;
	case 'm':
	case 'M':
		return 20;
	case 'g':
	case 'G':
		return 30;
	case 't':
	case 'T':
		return 40;
	default:
		return 0;
	}
}

/* Leaves the cursor behind the number or, on failure, on what is wrong. */
static int kfb_number_parse(struct cursor *c, struct number *out)
{
	const char *first = c->at;
	unsigned int base = 10;
	unsigned int shift;
	__u64 value = 0;
	int digit;

	if (first[0] == '0' && (first[1] == 'x' || first[1] == 'X')) {
		base = 16;
		c->at += 2;
	}
	digit = kfb_digit_value(*c->at, base);
	if (digit < 0)
		return -EINVAL;
	for (; digit >= 0; digit = kfb_digit_value(*++c->at, base)) {
		/* In halves: a 32-bit kernel has no division of 64 bits. */
		__u64 low = (value & 0xffffffff) * base + (unsigned int)digit;
		__u64 high = (value >> 32) * base + (low >> 32);

		if (high >> 32) {
			c->at = first;
			return -ERANGE;
		}
		value = high << 32 | (low & 0xffffffff);
	}
	shift = kfb_text_suffix_shift(*c->at);
	if (value > TEXT_U64_MAX >> shift) {
		c->at = first;
		return -ERANGE;
	}
	if (shift)
		c->at++;
	out->value = value << shift;
	out->has_suffix = shift != 0;
	return 0;
}

static int kfb_text_fail(const struct cursor *c, unsigned int *error_at,
			 int error)
{
	if (error_at)
		*error_at = (unsigned int)(c->at - c->start);
	return error;
}

int kfb_size_parse(const char *text, __u64 *value, unsigned int *error_at)
{
	struct cursor c = { .start = text, .at = text };
	struct number number;
	int err;

	err = kfb_number_parse(&c, &number);
	if (!err && *c.at)
		err = -EINVAL;
	if (err)
		return kfb_text_fail(&c, error_at, err);
	*value = number.value;
	return 0;
}

/* A count of blocks as it is, a size in bytes as the blocks it fills. */
static int kfb_text_blocks(const struct number *count, __u64 *n_blocks)
{
	if (count->has_suffix && count->value % KFB_BLOCK_BYTES)
		return -EDOM;
	*n_blocks = count->has_suffix ? count->value >> KFB_BLOCK_SHIFT
				      : count->value;
	return 0;
}

int kfb_blocks_parse(const char *text, __u64 *n_blocks, unsigned int *error_at)
{
	struct cursor c = { .start = text, .at = text };
	struct number count;
	__u64 blocks;
	int err;

	err = kfb_number_parse(&c, &count);
	if (!err && *c.at)
		err = -EINVAL;
	if (err)
		return kfb_text_fail(&c, error_at, err);
	err = kfb_text_blocks(&count, &blocks);
	if (err) {
		c.at = text;
		return kfb_text_fail(&c, error_at, err);
	}
	*n_blocks = blocks;
	return 0;
}

int kfb_range_parse(const char *text, __u64 *va, __u64 *n_blocks,
		    unsigned int *error_at)
{
	struct cursor c = { .start = text, .at = text };
	struct number first;
	struct number count;
	const char *second;
	__u64 blocks;
	int err;

	err = kfb_number_parse(&c, &first);
	if (!err && *c.at != '+')
		err = -EINVAL;
	if (err)
		return kfb_text_fail(&c, error_at, err);
	if (first.value % KFB_BLOCK_BYTES) {
		c.at = text;
		return kfb_text_fail(&c, error_at, -EDOM);
	}
	second = ++c.at;
	err = kfb_number_parse(&c, &count);
	if (!err && *c.at)
		err = -EINVAL;
	if (err)
		return kfb_text_fail(&c, error_at, err);
	c.at = second;
	err = kfb_text_blocks(&count, &blocks);
	if (!err && !blocks)
		err = -ENODATA;
	if (!err && blocks > KFB_BLOCKS_MAX - (first.value >> KFB_BLOCK_SHIFT))
		err = -EOVERFLOW;
	if (err)
		return kfb_text_fail(&c, error_at, err);
	*va = first.value;
	*n_blocks = blocks;
	return 0;
}

const char *kfb_text_why(int error)
{
	switch (error) {
	case -EINVAL:
		return "neither a number (decimal, or hexadecimal after 0x, then K, M, G, T or nothing) nor VA+N of two of them";
	case -ERANGE:
		return "the number does not fit in 64 bits";
	case -EDOM:
		return "not a multiple of 2 MiB";
	case -ENODATA:
		return "no blocks";
	case -EOVERFLOW:
		return "the range passes the end of the address space";
	default:
		return "not a number or a range";
	}
}
