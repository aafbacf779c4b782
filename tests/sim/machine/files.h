/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of a machine that runs brickd: the store or its slow tier behind Linux's
 * page cache (tests/lib/page_cache.h), on a disk that fails, and the small ones
 * that mark a store (brickd/media/media_mark.h).
 *
 * All of them outlive processes. A loss of power keeps, loses or tears, by
 * sectors, each page that is dirty; /run is empty afterwards. An unmount writes
 * back and forgets, as Linux does.
 */
#ifndef TESTS_SIM_FILES_H
#define TESTS_SIM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/lib/page_cache.h"
#include "../world.h"

#define SIM_FILE_BYTES	(UINT64_C(24) << 20)
#define SIM_FILE_PAGES	(SIM_FILE_BYTES / PC_PAGE)
#define SIM_STORE_PATH	"/disk/store"
#define SIM_SLOW_PATH	"/disk/slow"
#define SIM_FENCES_PATH "/disk/fences"
#define SIM_NODES_MAX	64 /* one for each time that the disk is mounted */
#define SIM_NODE_BYTES	256
#define SIM_PATH_BYTES	64

/*
 * struct sim_node - a small file
 * @path: its name; "": it has none any more
 * @durable: the name that it has on the disk, until its folder is synced
 * @is_synced: what is in it is on the disk
 */
struct sim_node {
	char path[SIM_PATH_BYTES];
	char durable[SIM_PATH_BYTES];
	bool is_synced;
	uint32_t len;
	uint8_t bytes[SIM_NODE_BYTES];
};

/*
 * struct sim_disk_error - what fails next, once
 * @error: errno; 0: nothing
 * @keep: with writing back and emptying the disk's cache: of a thousand pages so
 *	many are on the disk all the same
 * @more: with calls: so many behind it fail, too
 */
struct sim_disk_error {
	int error;
	unsigned int keep;
	unsigned int more;
};

/*
 * struct sim_file - one of the large ones
 * @pc: its pages
 * @bytes: its size
 * @touched: by page: it may be other than zero
 * @dirty_off: no page before it is dirty
 * @dirty_end: no page behind it is dirty
 * @write_back: the next page that is written back, by whomever
 * @flush: the next sync, when the disk empties its cache
 * @call: the next pread(2), pwrite(2) or fallocate(2)
 * @zero: the next fallocate(2)
 */
struct sim_file {
	struct page_cache pc;
	uint64_t bytes;
	uint64_t touched[SIM_FILE_PAGES / 64];
	uint64_t dirty_off;
	uint64_t dirty_end;
	struct sim_disk_error write_back;
	struct sim_disk_error flush;
	struct sim_disk_error call;
	struct sim_disk_error zero;
	uint64_t state[(sizeof(struct pc_state) + SIM_FILE_PAGES) / 8 + 1];
};

/*
 * struct sim_files - a machine's
 * @mount_id: of the file system of the large ones; 0: nobody can tell its mounts
 *	apart
 * @run_is_closed: brickd may not write to /run
 * @write_back_permille: how often the kernel writes something back unasked
 * @ends: fires when a sync has told of a page that was not written, to nobody who
 *	lives on; NULL: nothing does
 * @n_failed: calls that have failed, or that are to fail and may not be told so
 * @sync_ns: a sync may take so long, in which what is stored waits for the next one
 * @left_behind: the event in which a sync ended, and left something to the next one
 * @zeroed: the event in which a range was made zero, and is not on the disk
 */
struct sim_files {
	struct sim_file store;
	struct sim_file slow;
	struct pc_errseq super;
	struct sim_node nodes[SIM_NODES_MAX];
	uint64_t chance;
	uint64_t mount_id;
	bool run_is_closed;
	uint32_t write_back_permille;
	struct sim_event *ends;
	uint64_t n_failed;
	uint64_t sync_ns;
	uint64_t left_behind;
	uint64_t zeroed;
};

/* What a world's files are like. */
struct sim_files_settings {
	uint64_t store_bytes;
	uint64_t slow_bytes;
	bool has_mount_id;
	bool run_is_closed;
	uint32_t write_back_permille;
	uint64_t sync_ns;
};

/* New files of zeros. @page, @disk: the store's, which are the medium's. */
void sim_files_init(struct sim_files *files, uint32_t host, uint8_t *page,
		    uint8_t *disk, const struct sim_files_settings *settings,
		    uint64_t seed);

/* It has so many bytes, no fewer than before. Context: nobody has it open. */
void sim_file_grow(struct sim_file *file, uint64_t bytes);

/* Somebody has stored there through a mapping, or a device has. */
void sim_file_stored(struct sim_files *files, struct sim_file *file,
		     uint64_t off, uint64_t len);

/* What fdatasync(2) does: 0 or -errno. @since: of the description. */
int sim_file_sync(struct sim_files *files, struct sim_file *file,
		  uint32_t *since);

/* syncfs(2), with @since as sim_file_sync() has it. */
int sim_files_sync(struct sim_files *files, uint32_t *since);

/* The kernel writes something of it back; nobody has asked it to. */
void sim_file_write_back(struct sim_files *files, struct sim_file *file);

/* What fsync(2) does of the folder of the small files. */
void sim_files_sync_names(struct sim_files *files);
void sim_files_lose_power(struct sim_files *files);
/* Unmounted and mounted again. Context: nobody has them open. */
void sim_files_mount_again(struct sim_files *files);
/*
 * Another brickd of the machine starts, whose store is a neighbour there: it asks
 * whether the file system has lost a write, and leaves a note if so.
 */
void sim_files_neighbour_asks(struct sim_files *files);

/*
 * What the world calls without a thread of its own concerns these files, until NULL:
 * files of the machine that the simulator runs on.
 */
void sim_files_play(struct sim_files *files);
/* Of the program that runs; NULL: its machine has none. */
struct sim_files *sim_files_here(void);
/* close(2), write(2), fopen(3): did they concern one of these files? */
bool sim_file_close(int fd);
bool sim_file_append(int fd, const void *from, size_t len);
FILE *sim_file_read(const char *path, bool *is_ours);

#endif
