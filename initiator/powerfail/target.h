/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where records go: a block device or file, past the page cache, or blocks of a
 * brick through libkfbrick.
 *
 * Context: one thread each.
 */
#ifndef INITIATOR_POWERFAIL_TARGET_H
#define INITIATOR_POWERFAIL_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kfbrick;

/**
 * struct target_name - what the command line says
 * @path: of a device or file; NULL: a brick
 * @brick: its URL
 * @client: name there, or NULL
 * @key_file: the client's
 * @allow_untrusted_tcp: as brickctl's
 * @page_cache: reading may go through it, when nothing else works
 */
struct target_name {
	const char *path;
	const char *brick;
	const char *client;
	const char *key_file;
	bool allow_untrusted_tcp;
	bool page_cache;
};

/* The letters B, c, k and u of both programs. Return: whether it is one of them. */
bool target_take_option(struct target_name *name, int option,
			const char *value);

struct target {
	int fd;
	struct kfbrick *k;
	char why[256];
};

/**
 * target_open - open it
 * @t: filled; @t->why has words on failure
 * @name: which
 * @offset: first byte that will be used
 * @size: bytes; 0: to the end of a device or file, and then filled
 * @write: also for writing; on a brick: blocks that are missing are allocated
 *
 * Reads go past the page cache: what that still holds is not what was kept.
 * Where a file system has no way past it they are refused, unless @name->page_cache
 * says that synced and dropped is good enough. Writes need no such care.
 *
 * Several may be open on one target for writing, of one process or many.
 *
 * Return: 0 or -errno.
 */
int target_open(struct target *t, const struct target_name *name,
		uint64_t offset, uint64_t *size, bool write);
void target_close(struct target *t);

/* Whole records at multiples of their size. Return: 0 or -errno. */
int target_read(struct target *t, uint64_t at, void *buf, size_t len);

/* durable: when it returns (FUA); else after target_flush(). */
int target_write(struct target *t, uint64_t at, const void *buf, size_t len,
		 bool durable);
int target_flush(struct target *t);

#endif
