/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linux's page cache over a disk that fails, for one file.
 *
 * The file itself is what processes see: the page cache. Beside it, in a folder
 * of the test, lie what is on the disk (NAME.disk), each page as it was when it
 * was last clean (NAME.clean), and what the kernel knows besides (NAME.state).
 * All of it outlives a process that is killed, as the kernel does.
 *
 * - A page is dirty when it was written since it was last clean: with write(2)
 *   that is noted; through a mapping it is seen by comparing. Somebody who
 *   stores what was there already is not noticed, other than by Linux.
 * - Writing back copies a dirty page to the disk, or does not when the disk
 *   fails. It is clean then in either case, and stays as it is for processes.
 * - An error is kept for the file and told once for each open description
 *   (errseq_t): to whichever of its syncs looks first. The others are told
 *   nothing. A description that is opened later is told only what nobody has
 *   been told before.
 *   The file system keeps the error in the same way (superblock.state), for syncfs(2).
 * - A clean page may be dropped: what is read next is what is on the disk.
 *
 * Context: several threads. Locking: io is held while pages are written back,
 * which makes a sync wait for those under way; one lock guards all errors.
 */
#ifndef TESTS_LIB_PAGE_CACHE_H
#define TESTS_LIB_PAGE_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PC_PAGE	     4096U
#define PC_NAME_MAX  64
#define PC_PER_MILLE 1000U
#define PC_MAGIC     UINT64_C(0x6568636170616765)

#define PC_DIRTY  1U /* written with write(2) since it was clean */
#define PC_ABSENT 2U /* dropped, and not read since */

/**
 * struct pc_errseq - an error that is told once to each description
 * @count: how many errors have been kept; the present one's number
 * @seen: somebody has been told of it
 * @error: its errno, 0: none
 * @reserved: 0
 */
struct pc_errseq {
	uint32_t count;
	uint32_t seen;
	uint32_t error;
	uint32_t reserved;
};

/**
 * struct pc_state - what the kernel keeps of a file, as it lies in NAME.state
 * @magic: PC_MAGIC
 * @size: of the file, bytes
 * @error: of writing it back
 * @was_mapped: somebody could write to it through a mapping
 * @reserved: 0
 * @page: for each page PC_DIRTY and PC_ABSENT
 */
struct pc_state {
	uint64_t magic;
	uint64_t size;
	struct pc_errseq error;
	uint32_t was_mapped;
	uint32_t reserved;
	uint8_t page[];
};

/**
 * struct page_cache - a file
 * @name: its name in the folder
 * @page: its pages as processes see them
 * @disk: as they are on the disk
 * @clean: as they were when they were last clean
 * @state: see above
 * @super: the file system's error
 * @n_pages: of the file
 * @io: see above
 * @n_maps: mappings of this process; while there are any no page is dropped
 * @seed: the dice that decide which pages a failing disk takes; io
 * @fd: the file
 */
struct page_cache {
	char name[PC_NAME_MAX];
	uint8_t *page;
	uint8_t *disk;
	uint8_t *clean;
	struct pc_state *state;
	struct pc_errseq *super;
	uint64_t n_pages;
	pthread_mutex_t io;
	unsigned int n_maps;
	unsigned int seed;
	int fd;
};

/**
 * struct pc_disk - how the disk takes pages
 * @error: errno; 0: it takes all of them
 * @keep: with an error: so many in a thousand are taken all the same
 * @delay_us: how long that takes
 */
struct pc_disk {
	int error;
	unsigned int keep;
	unsigned int delay_us;
};

/* Has somebody put NAME.WHAT into the folder, such as this file's state? */
bool pc_exists(const char *folder, const char *name, const char *what);

/**
 * pc_open - the file behind a descriptor
 * @pc: zeros
 * @folder: of the test
 * @name: of the file there
 * @fd: the file; pc has it from now on
 *
 * Return: 0 or -errno.
 */
int pc_open(struct page_cache *pc, const char *folder, const char *name,
	    int fd);

/* What a new description has been told: the @since of pc_error(). */
uint32_t pc_sample(const struct pc_errseq *errors);

/* The kept error, if the description has not been told: 0 or -errno. */
int pc_error(struct pc_errseq *errors, uint32_t *since);

/**
 * pc_write_back - write dirty pages back, or fail to
 * @pc: the file
 * @off: first byte
 * @len: bytes, rounded outwards to pages
 * @share: of the dirty pages, in a thousand
 * @disk: how it takes them
 *
 * An error is kept when at least one page has met it.
 *
 * Return: how many pages were not taken.
 */
uint64_t pc_write_back(struct page_cache *pc, uint64_t off, uint64_t len,
		       unsigned int share, const struct pc_disk *disk);

/* Is one of these pages dirty? */
bool pc_is_dirty(struct page_cache *pc, uint64_t off, uint64_t len);

/*
 * All is written back, but the disk cannot empty its own cache, which loses all
 * but so many in a thousand. Nobody else is told. Return: -@error.
 */
int pc_flush_fails(struct page_cache *pc, int error, unsigned int keep);

/* Note that these bytes are being written, or were. */
void pc_dirty(struct page_cache *pc, uint64_t off, uint64_t len);

/* Drop what is clean, if nobody has it mapped. */
void pc_drop(struct page_cache *pc, uint64_t off, uint64_t len);

/* Note that these pages have been read in. */
void pc_present(struct page_cache *pc, uint64_t off, uint64_t len);

/* As mincore(2): for each page whether it is in the cache. */
void pc_mincore(const struct page_cache *pc, uint64_t off, uint64_t len,
		unsigned char *vec);

/* Read past the cache. Return: bytes or -errno. */
ssize_t pc_read_disk(struct page_cache *pc, void *to, size_t len, uint64_t off);

#endif
