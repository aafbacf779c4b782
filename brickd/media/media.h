/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Media: the bytes below a store, and the only way to write them.
 *
 * A medium is one mapped, fixed-size area. Readers may load from base at any
 * time; whoever writes store metadata or zeroes slots does it through the ops,
 * so that the crash enumerator can record every store, flush and fence. Client
 * data arrives by RDMA below this table; flush and drain cover it too.
 *
 * Durability: a store is durable after flush() of its range followed by
 * drain(). On a PAGE medium flush() only marks and drain() is one fdatasync.
 *
 * Context: st64/copy/zero/flush may be called from any thread on disjoint
 * ranges; drain() covers the flushes of the calling thread and, on PAGE media,
 * everything. All may block.
 */
#ifndef BRICKD_MEDIA_MEDIA_H
#define BRICKD_MEDIA_MEDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/media/made.h"

enum brick_granularity {
	BRICK_GRANULARITY_BYTE, /* eADR: drain only */
	BRICK_GRANULARITY_CACHE_LINE, /* CLWB and SFENCE */
	BRICK_GRANULARITY_PAGE, /* fdatasync */
};

struct brick_media;
struct brick_media_file;
struct brick_media_map;

/* Some of a medium's bytes. */
struct brick_bytes {
	uint64_t off;
	uint64_t len;
};

/**
 * struct brick_media_past - a file as it was found
 * @fs_id: of the file system as it is mounted, 0: unknown (media_fsid.h)
 * @was_cached: as brick_media_was_cached() says; false where it is made
 * @is_unknown: something is, and nobody can tell whether the file has it, too
 */
struct brick_media_past {
	uint64_t fs_id;
	bool was_cached;
	bool is_unknown;
};

/**
 * struct brick_media_ops - how a medium is written
 * @st64: one atomic, naturally aligned 8-byte store at offset @off
 * @copy: copy @len bytes to @off; tears at 8-byte words only if @off and @len
 *	are multiples of 8, as they are for all metadata
 * @zero: zero @len bytes at @off
 * @flush: start to make [off, off + len) durable; includes data that arrived
 *	by RDMA or by a peer's CPU copies
 * @drain: wait until all that was flushed before is durable; 0 or -errno (EIO:
 *	the medium failed, nothing flushed since the last drain may be trusted)
 * @lost: has the file system lost a write, of whomever, that nobody was told
 *	of? 0 or -errno; NULL: there is nobody to ask, and nothing is forgotten
 * @close: unmap and free
 */
struct brick_media_ops {
	void (*st64)(struct brick_media *m, uint64_t off, uint64_t value);
	void (*copy)(struct brick_media *m, uint64_t off, const void *src,
		     size_t len);
	void (*zero)(struct brick_media *m, uint64_t off, size_t len);
	void (*flush)(struct brick_media *m, uint64_t off, size_t len);
	int (*drain)(struct brick_media *m);
	int (*lost)(struct brick_media *m);
	void (*close)(struct brick_media *m);
};

/**
 * struct brick_medium - a kind of medium; what there is to know of each
 * @label: KFB_MEDIUM_*: what INFO calls it if neither the platform below it nor
 *	the administrator says more (brick_medium_label())
 * @prefix: the path of one that is no file begins so; NULL: it is a file or a
 *	device
 * @is_volatile: nothing of it outlives the machine
 * @is_pmem: what the CPU writes back is on it, without a page cache
 * @is_device: it has its size from elsewhere
 * @open: with @prefix: as brick_media_open(); sets medium and is_volatile, too
 * @is_mine: without: is this file of this kind? The first row that says so has it
 * @adopt: without: gives the mapping its ops, or refuses it
 */
struct brick_medium {
	unsigned int label;
	const char *prefix;
	bool is_volatile;
	bool is_pmem;
	bool is_device;
	int (*open)(const char *path, struct brick_media **out, char *err,
		    size_t err_len);
	bool (*is_mine)(const struct brick_media_file *f,
			const struct brick_media_map *mm);
	int (*adopt)(const struct brick_media_file *f,
		     struct brick_media_map *mm);
};

/* The rows of media_open.c's table, each in its own file. */
extern const struct brick_medium brick_medium_memory;
extern const struct brick_medium brick_medium_devdax;
extern const struct brick_medium brick_medium_tmpfs;
extern const struct brick_medium brick_medium_fsdax;
extern const struct brick_medium brick_medium_file;

/**
 * struct brick_media - one open medium; embedded in each backend's own struct
 * @ops: how to write it
 * @base: the mapping
 * @size: bytes, as mapped
 * @path: as the administrator gave it, for messages
 * @fd: open file, or -1 for memory:
 * @granularity: what durability takes
 * @medium: which kind
 * @is_volatile: so is the kind, or the platform does not call it persistent
 * @made: what opening it for format has made
 * @fresh_is_zero: nothing was ever written here (a file made by format)
 * @mark: for brick_mark_set(); NULL: what is written is not forgotten
 * @past: of a file behind the page cache
 */
struct brick_media {
	const struct brick_media_ops *ops;
	uint8_t *base;
	uint64_t size;
	char *path;
	int fd;
	enum brick_granularity granularity;
	const struct brick_medium *medium;
	bool is_volatile;
	enum brick_made made;
	bool fresh_is_zero;
	char *mark;
	struct brick_media_past past;
};

/**
 * struct brick_media_create - what format wants of a new file
 * @size: bytes; ignored for a device, which has its own
 * @sparse: do not allocate; only on volatile media
 * @allow_fragmented: accept an fsdax file that is not contiguous
 */
struct brick_media_create {
	uint64_t size;
	bool sparse;
	bool allow_fragmented;
};

/**
 * brick_media_open - open and map the medium at a path
 * @path: devdax node, fsdax, plain or tmpfs file, or "memory:SIZE"
 * @create: NULL to open what is there; else make the file first (mode 0600,
 *	fully allocated) if it does not exist, or resize an existing empty one
 * @out: the medium
 * @err: a message for the administrator on failure: what, where, why, what to
 *	do next
 * @err_len: its size, bytes
 *
 * Takes an exclusive flock on the file. Refuses /dev/pmemN (says which ndctl
 * command makes it usable), directories, block devices, and sizes that do not
 * fit the mapping. Of a file behind the page cache nothing is in memory then that
 * the medium does not have.
 *
 * Context: may block; not thread-safe against itself on one path.
 * Return: 0, -EWOULDBLOCK (another process holds the lock), or -errno.
 */
int brick_media_open(const char *path, const struct brick_media_create *create,
		     struct brick_media **out, char *err, size_t err_len);

/* Is this the path of a medium that is no file and begins with each start? */
bool brick_media_is_made_at_start(const char *path);

/**
 * brick_media_extend - make the file below a medium larger
 * @m: open; its mapping stays as it is: close it and open it again
 * @size: bytes in all
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * The new bytes are zero, and allocated unless the file is a sparse one in
 * memory. On failure the file is as large as before.
 *
 * Context: may block for long.
 * Return: 0, -ENOTSUP (no file), -EINVAL (no larger than it is), -ENOSPC, or
 * -errno.
 */
int brick_media_extend(struct brick_media *m, uint64_t size, char *err,
		       size_t err_len);

/**
 * brick_media_was_cached - is a file in memory as whoever served it has left it?
 * @fd: open
 * @mark: its absolute path, without links
 *
 * If nothing is, that is remembered for those who come later: they find what this
 * one reads. See brick_mark_set_cold().
 *
 * Context: before anything of it is read; may block.
 * Return: false: it is not, or was not when one of us opened it before.
 */
bool brick_media_was_cached(int fd, const char *mark);

/**
 * brick_media_trust_environment - let libpmem2's test variables have effect
 * @trust: do not unset PMEM2_FORCE_GRANULARITY and PMEM_IS_PMEM_FORCE at open
 *
 * For tests only: with them a disk file is taken for persistent memory.
 *
 * Context: before any brick_media_open().
 */
void brick_media_trust_environment(bool trust);

/**
 * brick_media_offset_of - where in a medium an address lies
 * @m: the medium
 * @addr: any address, such as the one a SIGBUS names
 * @off: bytes from the start
 *
 * Context: any, signal handlers included.
 * Return: true when the address is inside the mapping.
 */
static inline bool brick_media_offset_of(const struct brick_media *m,
					 const void *addr, uint64_t *off)
{
	uintptr_t at = (uintptr_t)addr, base = (uintptr_t)m->base;

	if (at < base || at - base >= m->size)
		return false;
	*off = at - base;
	return true;
}

static inline void brick_media_close(struct brick_media *m)
{
	m->ops->close(m);
}

/* Closes what format has refused; a file that was made for it goes again. */
void brick_media_discard(struct brick_media *m);

#endif
