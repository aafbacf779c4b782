/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the media files share: a file on its way to becoming a medium, and the
 * mapping that all but memory: have in common.
 */
#ifndef BRICKD_MEDIA_MEDIA_IMPL_H
#define BRICKD_MEDIA_MEDIA_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <libpmem2.h>

#include "brickd/media/made.h"
#include "brickd/media/media.h"
#include "brickd/media/media_say.h"

/**
 * struct brick_media_file - an open, locked file or device, not mapped yet
 * @path: as given
 * @fd: open for reading and writing
 * @made: what this open has made of the path
 * @is_device: a character device
 * @is_tmpfs: a file in memory
 * @create: what format wants, or NULL
 * @err: where a message for the administrator goes
 * @err_len: its size, bytes
 */
struct brick_media_file {
	const char *path;
	int fd;
	enum brick_made made;
	bool is_device;
	bool is_tmpfs;
	const struct brick_media_create *create;
	char *err;
	size_t err_len;
};

/**
 * brick_media_settle - write and drop what is in memory of a file
 * @f: open, locked, not mapped; no file in memory (tmpfs)
 * @size: its bytes
 * @mark: for brick_mark_set()
 * @past: filled
 *
 * An error of writing is not this open's: it is remembered by the mark.
 *
 * Context: may block for long.
 * Return: 0, -ENOMEM, or -EIO: what is in memory is not in the file and stays
 * there; a message is in f->err.
 */
int brick_media_settle(const struct brick_media_file *f, uint64_t size,
		       const char *mark, struct brick_media_past *past);

/* A medium that libpmem2 mapped. */
struct brick_media_map {
	struct brick_media m;
	struct pmem2_map *map;
	size_t align_bytes; /* of the file or device */
	pmem2_flush_fn flush;
	pmem2_drain_fn drain;
	pmem2_memset_fn memset;
};

/**
 * brick_media_map - map a file or device
 * @f: open and locked; on success the medium owns f->fd
 * @out: the medium, its ops and kind not yet set
 *
 * Context: may block.
 * Return: 0 or -errno; a message is in f->err.
 */
int brick_media_map(const struct brick_media_file *f,
		    struct brick_media_map **out);

/* Unmap, unlock and free: the close of every mapped medium. */
void brick_media_unmap(struct brick_media *m);

/* Plain CPU stores, for every ops table. */
void brick_media_st64(struct brick_media *m, uint64_t off, uint64_t value);
void brick_media_copy(struct brick_media *m, uint64_t off, const void *src,
		      size_t len);
void brick_media_zero(struct brick_media *m, uint64_t off, size_t len);
void brick_media_flush_nothing(struct brick_media *m, uint64_t off, size_t len);
int brick_media_drain_nothing(struct brick_media *m);

/* CLWB and SFENCE, or SFENCE only: persistent memory of any kind. */
extern const struct brick_media_ops brick_media_pmem_ops;

/**
 * brick_media_fragments - how many 2 MiB pieces of a file are unusable
 * @fd: the file
 * @size: its bytes
 * @n_bad: pieces that are not one physical extent, 2 MiB aligned
 *
 * Context: may block.
 * Return: 0, -EOPNOTSUPP (no FIEMAP) or -errno.
 */
int brick_media_fragments(int fd, uint64_t size, uint64_t *n_bad);

#endif
