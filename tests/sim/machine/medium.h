/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A brick's persistent memory with what lies before it: N, the lines that writes
 * of its connections have left in NIC and bus buffers; L, those in the CPU's
 * cache; M, the media (docs/durability.md).
 *
 * Brickd and one-sided operations see N's lines when they have left it. What is
 * flushed reaches M at once or with the next drain of the same thread, as chance has
 * it: a fence orders what its own processor has written back, and nobody else's. A
 * loss of power keeps or loses, or tears at 8 bytes, each line that is in N, and
 * keeps or loses each in L.
 */
#ifndef TESTS_SIM_MEDIUM_H
#define TESTS_SIM_MEDIUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/media/media.h"
#include "power.h"
#include "../world.h"

struct sim_files;
struct sim_thread;

#define SIM_MEDIUM_BYTES (UINT64_C(24) << 20)
#define SIM_LINE	 64
#define SIM_LINES	 (SIM_MEDIUM_BYTES / SIM_LINE)
#define SIM_N_LINES	 1024
#define SIM_LINKS_MAX	 64
#define SIM_FLUSHED_MAX	 4096

/*
 * struct sim_platform - what the host of a brick is like
 * @ddio: devices write into the CPU's cache
 * @eadr: the cache survives a loss of power
 * @declared_off: brickd is told that DDIO is off, whether it is or not
 * @placed: a write is acknowledged when a CPU has put it where it belongs
 * @drain_permille: that a line leaves N when another write comes
 * @evict_permille: that a line leaves L by itself at a store
 */
struct sim_platform {
	bool ddio;
	bool eadr;
	bool declared_off;
	bool placed;
	uint32_t drain_permille;
	uint32_t evict_permille;
};

/* A line that thread @by has written back and not drained yet, as it was then. */
struct sim_flushed {
	const struct sim_thread *by;
	uint32_t line;
	uint8_t bytes[SIM_LINE];
};

/*
 * struct sim_cut - where something comes in the middle of what brickd does
 * @operations: after so many on its medium; 0: nowhere
 * @of_head: of those on its superblocks, commit words, instance pages and log alone
 */
struct sim_cut {
	uint32_t operations;
	bool of_head;
};

/*
 * struct sim_medium - one
 * @platform: of its host
 * @files: of its host, when a file has it; @kept is the disk then, and what is
 *	between is the page cache: see files.h
 * @bytes: of @seen, so many belong to the store
 * @chance: what of it a loss of power keeps
 * @seen: what programs see
 * @kept: M
 * @dirty: by line: in L; 64 a word
 * @touched: by page: it may be other than zero
 * @waiting: by line: one of @flushed is it
 * @until_cut: so many operations of brickd's more, then @cut fires; 0: none is
 *	waited for
 * @cuts_head: of those on what is before the tables alone
 * @n_flushed: lines of @flushed
 * @n: N of all connections
 * @is_failing: a drain returns -EIO
 */
struct sim_medium {
	struct sim_platform platform;
	struct sim_files *files;
	uint64_t bytes;
	uint64_t chance;
	uint8_t *seen;
	uint8_t *kept;
	uint64_t dirty[SIM_LINES / 64];
	uint64_t touched[SIM_MEDIUM_BYTES / 4096 / 64];
	uint32_t until_cut;
	bool cuts_head;
	struct sim_event cut;
	uint64_t waiting[SIM_LINES / 64];
	uint32_t n_flushed;
	struct sim_flushed flushed[SIM_FLUSHED_MAX];
	struct fault_power n;
	struct fault_line n_lines[SIM_N_LINES];
	struct fault_queue n_links[SIM_LINKS_MAX];
};

/* A new medium of zeros for host number @host, or the old one as if it were new. */
void sim_medium_init(struct sim_medium *medium, uint32_t host,
		     const struct sim_platform *platform, uint64_t seed);

/* What brickd has stored, by whatever way, and what it makes zero. */
void sim_medium_copy(struct sim_medium *medium, uint64_t off, const void *from,
		     uint64_t len);
void sim_medium_zero(struct sim_medium *medium, uint64_t off, uint64_t len);

/* A line of it becomes what another one is. */
void sim_medium_misplace(struct sim_medium *medium, uint64_t off,
			 uint64_t from);
/* A line of it becomes something else, wherever it is. */
void sim_medium_overwrite(struct sim_medium *medium, uint64_t off,
			  uint8_t byte);

/* What brickd opens. */
struct brick_media *sim_medium_open(struct sim_medium *medium);

/* Bytes of a device arrive over a connection. @at: in seen. */
void sim_medium_write(struct sim_medium *medium, uint32_t link, uint64_t key,
		      uint8_t *at, const void *from, uint32_t len);
/* N of a connection, or of all, is empty afterwards. */
void sim_medium_empty(struct sim_medium *medium, uint32_t link);
void sim_medium_fence(struct sim_medium *medium);
/* A connection has ended: N of it drains or is lost. */
void sim_medium_unlink(struct sim_medium *medium, uint32_t link, bool drains);

/* What was written to whole lines of it, wherever it is behind N, is in M. */
void sim_medium_settle(struct sim_medium *medium, uint64_t off, uint64_t len);

/* Lets medium->cut fire in the middle of what brickd does with it. */
void sim_medium_cut_after(struct sim_medium *medium, struct sim_cut cut);

/* The power fails: what is seen then is what M was left with. */
void sim_medium_lose_power(struct sim_medium *medium);

#endif
