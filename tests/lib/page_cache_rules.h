/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is to fail next: rules that a test puts into a folder.
 *
 * A rule is a file FOLDER/rules/NAME with words KEY=VALUE, made elsewhere and
 * renamed to its place. The first rule by name that fits is applied.
 *
 *	on=POINT	where it applies, see enum pc_point
 *	file=NAME	to which file
 *	thread=NAME	only in the thread of this name
 *	from=OFFSET len=BYTES	only where these bytes are concerned
 *	after=N		not the first N times
 *	times=N		so often, then the rule's file is removed; 1; 0: always
 *	error=NAME	EIO or ENOSPC
 *	keep=N		of a thousand pages so many reach the disk all the same
 *	hold=1		wait until the rule's file is removed, and then go on
 *
 * What has happened is in FOLDER/log, a line for each time.
 */
#ifndef TESTS_LIB_PAGE_CACHE_RULES_H
#define TESTS_LIB_PAGE_CACHE_RULES_H

#include <stdbool.h>
#include <stdint.h>

/**
 * enum pc_point - where a rule applies
 * @PC_AT_READ: pread(2)
 * @PC_AT_WRITE: pwrite(2)
 * @PC_AT_ZERO: fallocate(2)
 * @PC_AT_SYNC: a sync begins; an error is told to nobody else
 * @PC_AT_WRITEBACK: dirty pages are written back: by a sync, or just so; never
 *	when there are none
 * @PC_AT_CHECK: a sync has written back, and has not looked for errors yet
 * @PC_AT_FLUSH: the disk is to empty its own cache; an error is told by this
 *	sync alone, which has lost what it wrote back
 */
enum pc_point {
	PC_AT_READ,
	PC_AT_WRITE,
	PC_AT_ZERO,
	PC_AT_SYNC,
	PC_AT_WRITEBACK,
	PC_AT_CHECK,
	PC_AT_FLUSH,
};

/**
 * struct pc_rule - one that was applied
 * @name: its file's
 * @error: errno or 0
 * @keep: in a thousand
 */
struct pc_rule {
	char name[64];
	int error;
	unsigned int keep;
};

/**
 * pc_rule_apply - is there a rule for this?
 * @folder: of the test
 * @point: where
 * @file: its name
 * @off: first byte concerned
 * @len: bytes
 * @out: the rule
 *
 * A rule that holds has held when this returns.
 *
 * Return: true if there was one.
 */
bool pc_rule_apply(const char *folder, enum pc_point point, const char *file,
		   uint64_t off, uint64_t len, struct pc_rule *out);

/* Is there one that has not come to its turn, or will again? */
bool pc_rule_waits(const char *folder, enum pc_point point, const char *file);

/* Add a line to the log. */
void pc_rule_log(const char *folder, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
