/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers and ranges as people write them: on command lines and in
 * configuration files.
 *
 * A number is decimal, or hexadecimal after 0x, and may end in one of K, M, G
 * and T (either case), which multiply by powers of 1024. A range is VA+N: VA
 * is a number on a block boundary; N counts blocks, or, when it has a suffix,
 * bytes, which must be whole blocks. Nothing may precede or follow.
 */
#ifndef KFB_TEXT_H
#define KFB_TEXT_H

#include <linux/types.h>

/**
 * kfb_size_parse - read a number with an optional suffix
 * @text: terminated by a NUL
 * @value: the number; untouched on failure
 * @error_at: on failure the offset in @text of what is wrong; may be NULL
 *
 * Context: any.
 * Return: 0, -EINVAL (not of the form), -ERANGE (does not fit in 64 bits).
 */
int kfb_size_parse(const char *text, __u64 *value, unsigned int *error_at);

/**
 * kfb_range_parse - read VA+N
 * @text: terminated by a NUL
 * @va: address of the first block; untouched on failure
 * @n_blocks: how many blocks, at least 1; untouched on failure
 * @error_at: on failure the offset in @text of what is wrong; may be NULL
 *
 * The whole address space, 0x0+8796093022208, is a range.
 *
 * Context: any.
 * Return: 0, -EINVAL (not of the form), -ERANGE (a number does not fit in 64
 * bits), -EDOM (VA or a size is not a multiple of 2 MiB), -ENODATA (N is 0),
 * -EOVERFLOW (the range passes the end of the address space).
 */
int kfb_range_parse(const char *text, __u64 *va, __u64 *n_blocks,
		    unsigned int *error_at);

/**
 * kfb_blocks_parse - read a number of blocks, as N of a range, or 0
 * @text: terminated by a NUL
 * @n_blocks: how many blocks; untouched on failure
 * @error_at: on failure the offset in @text of what is wrong; may be NULL
 *
 * Context: any.
 * Return: 0, -EINVAL, -ERANGE or -EDOM, as of kfb_range_parse().
 */
int kfb_blocks_parse(const char *text, __u64 *n_blocks, unsigned int *error_at);

/**
 * kfb_text_why - what an error of these functions means
 * @error: what they returned
 *
 * Context: any.
 * Return: a constant string for people, without a full stop.
 */
const char *kfb_text_why(int error);

/**
 * kfb_digit_value - what a digit stands for
 * @c: character, upper or lower case
 * @base: 10 or 16
 *
 * Context: any.
 * Return: 0 to @base - 1, or -EINVAL.
 */
int kfb_digit_value(char c, unsigned int base);

#endif
