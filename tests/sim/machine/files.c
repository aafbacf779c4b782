// SPDX-License-Identifier: BSD-2-Clause
/* What becomes of files when nobody looks: see files.h. */
#include "files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/media/media_mark.h"
#include "fabric.h"
#include "host.h"
#include "memory.h"

#define SECTOR	  512
#define SOME	  500 /* permille */
#define WORD_BITS 64
#define RUN	  "/run/"
#define HALF	  500 /* permille */

/* page_cache.c locks what no thread of a world holds while it is held up. */
static struct sim_thread *enter_kernel(void)
{
	struct sim_thread *thread = sim_current;

	sim_current = NULL;
	return thread;
}

static void leave_kernel(struct sim_thread *thread)
{
	sim_current = thread;
}

static bool chance(struct sim_files *files, uint32_t permille)
{
	return sim_chance_of(&files->chance, permille);
}

/* ---- writing back ---------------------------------------------------------- */

static void note_dirty(struct sim_file *file, uint64_t off, uint64_t len)
{
	bool is_clean = file->dirty_off == file->dirty_end;

	if (is_clean || off < file->dirty_off)
		file->dirty_off = off;
	if (is_clean || off + len > file->dirty_end)
		file->dirty_end = off + len;
}

static void note_clean(struct sim_file *file)
{
	file->dirty_off = file->dirty_end = 0;
}

static uint64_t write_back(struct sim_files *files, struct sim_file *file,
			   uint32_t share)
{
	struct pc_disk disk = { .error = file->write_back.error,
				.keep = file->write_back.keep };
	struct sim_thread *thread = enter_kernel();
	uint64_t lost =
		pc_write_back(&file->pc, file->dirty_off,
			      file->dirty_end - file->dirty_off, share, &disk);

	leave_kernel(thread);
	if (share == PC_PER_MILLE)
		note_clean(file);
	if (lost) {
		file->write_back.error = 0;
		files->n_failed++;
		sim_trace("disk", "%s: %llu pages could not be written back",
			  file->pc.name, (unsigned long long)lost);
	}
	return lost;
}

void sim_file_write_back(struct sim_files *files, struct sim_file *file)
{
	write_back(files, file,
		   1 + (uint32_t)sim_below_of(&files->chance, PC_PER_MILLE));
}

int sim_file_sync(struct sim_files *files, struct sim_file *file,
		  uint32_t *since)
{
	struct sim_disk_error flush = file->flush;
	struct sim_thread *thread;
	int rc;

	if (flush.error) {
		file->flush.error = 0;
		files->n_failed++;
		sim_trace("disk", "%s: its cache cannot be emptied: %s",
			  file->pc.name, strerror(flush.error));
		thread = enter_kernel();
		rc = pc_flush_fails(&file->pc, flush.error, flush.keep);
		leave_kernel(thread);
		note_clean(file);
		return rc;
	}
	write_back(files, file, PC_PER_MILLE);
	if (files->sync_ns)
		sim_sleep(sim.now_ns + sim_below(files->sync_ns));
	else
		sim_may_yield();
	if (file->dirty_off != file->dirty_end)
		files->left_behind = sim.n_events;
	rc = pc_error(&file->pc.state->error, since);
	if (rc && files->ends) {
		sim_schedule(files->ends, sim.now_ns);
		files->ends = NULL;
		sim_yield();
	}
	return rc;
}

int sim_files_sync(struct sim_files *files, uint32_t *since)
{
	write_back(files, &files->store, PC_PER_MILLE);
	write_back(files, &files->slow, PC_PER_MILLE);
	return pc_error(&files->super, since);
}

void sim_file_stored(struct sim_files *files, struct sim_file *file,
		     uint64_t off, uint64_t len)
{
	pc_dirty(&file->pc, off, len);
	note_dirty(file, off, len);
	for (uint64_t p = off / PC_PAGE; p <= (off + len - 1) / PC_PAGE; p++)
		file->touched[p / WORD_BITS] |= UINT64_C(1) << (p % WORD_BITS);
	if (chance(files, files->write_back_permille))
		sim_file_write_back(files, file);
}

/* ---- power, mounts ----------------------------------------------------------- */

static void forget_page(struct sim_file *file, uint64_t p)
{
	uint64_t off = p * PC_PAGE;

	memcpy(file->pc.page + off, file->pc.disk + off, PC_PAGE);
	memcpy(file->pc.clean + off, file->pc.disk + off, PC_PAGE);
	file->pc.state->page[p] = PC_ABSENT;
}

/* Of a page that was on its way to the disk each sector is there or is not. */
static void tear_page(struct sim_files *files, struct sim_file *file,
		      uint64_t p)
{
	uint64_t off = p * PC_PAGE;
	bool is_torn = chance(files, SOME), is_kept = chance(files, SOME);

	for (uint64_t at = off; at < off + PC_PAGE; at += SECTOR)
		if (is_torn ? chance(files, SOME) : is_kept)
			memcpy(file->pc.disk + at, file->pc.page + at, SECTOR);
}

static void lose_pages(struct sim_files *files, struct sim_file *file)
{
	for (uint64_t p = 0; p < file->pc.n_pages; p++) {
		if (file->pc.state->page[p] & PC_ABSENT)
			continue;
		if (file->pc.state->page[p] & PC_DIRTY)
			tear_page(files, file, p);
		forget_page(file, p);
	}
	note_clean(file);
	file->pc.state->error = (struct pc_errseq){ 0 };
}

static void new_mount(struct sim_files *files)
{
	files->super = (struct pc_errseq){ 0 };
	if (files->mount_id)
		files->mount_id++;
}

void sim_files_sync_names(struct sim_files *files)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		memcpy(files->nodes[i].durable, files->nodes[i].path,
		       sizeof(files->nodes[i].durable));
}

/*
 * What the folders had not been synced for may be on the disk all the same, as a
 * whole; what is in a file that was not synced may not.
 */
static void lose_names(struct sim_files *files)
{
	if (sim_chance_of(&files->chance, HALF))
		sim_files_sync_names(files);
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++) {
		struct sim_node *node = &files->nodes[i];

		memcpy(node->path, node->durable, sizeof(node->path));
		if (!strncmp(node->path, RUN, sizeof(RUN) - 1))
			node->path[0] = node->durable[0] = '\0';
		if (!node->is_synced && sim_chance_of(&files->chance, HALF))
			node->len = 0;
		node->is_synced = true;
	}
}

void sim_files_lose_power(struct sim_files *files)
{
	lose_pages(files, &files->store);
	lose_pages(files, &files->slow);
	new_mount(files);
	lose_names(files);
}

void sim_files_mount_again(struct sim_files *files)
{
	sim_trace("disk", "is mounted again");
	write_back(files, &files->store, PC_PER_MILLE);
	write_back(files, &files->slow, PC_PER_MILLE);
	/* What is dirty no more is dropped, whether it is on the disk or not. */
	lose_pages(files, &files->store);
	lose_pages(files, &files->slow);
	new_mount(files);
}

void sim_files_neighbour_asks(struct sim_files *files)
{
	uint32_t since = pc_sample(&files->super);

	/* What it has heard and cannot leave a note of nobody can find out. */
	if (!files->mount_id || files->run_is_closed ||
	    !sim_files_sync(files, &since))
		return;
	sim_trace("disk", "a neighbour hears that writes are lost");
	sim_files_play(files);
	if (brick_mark_loss(files->mount_id))
		sim_die("a neighbour cannot leave a note");
	sim_files_play(NULL);
}

/* ---- new ones ------------------------------------------------------------------ */

static void make_zero(struct sim_file *file)
{
	for (uint64_t p = 0; p < SIM_FILE_PAGES; p++) {
		uint64_t off = p * PC_PAGE;

		if (!(file->touched[p / WORD_BITS] >> (p % WORD_BITS) & 1))
			continue;
		memset(file->pc.page + off, 0, PC_PAGE);
		memset(file->pc.disk + off, 0, PC_PAGE);
		memset(file->pc.clean + off, 0, PC_PAGE);
	}
	memset(file->touched, 0, sizeof(file->touched));
}

static void file_init(struct sim_files *files, struct sim_file *file,
		      const char *name, uint64_t bytes)
{
	struct page_cache *pc = &file->pc;

	make_zero(file);
	(void)snprintf(pc->name, sizeof(pc->name), "%s", name);
	pc->state = (struct pc_state *)file->state;
	memset(file->state, 0, sizeof(file->state));
	pc->n_pages = bytes / PC_PAGE;
	pc->n_maps = 0;
	pc->super = &files->super;
	pc->seed = (unsigned int)sim_below_of(&files->chance, UINT32_MAX);
	pc->state->size = bytes;
	memset(pc->state->page, PC_ABSENT, pc->n_pages);
	file->bytes = bytes;
	note_clean(file);
	file->write_back = file->flush = file->call = file->zero =
		(struct sim_disk_error){ 0 };
}

void sim_file_grow(struct sim_file *file, uint64_t bytes)
{
	struct page_cache *pc = &file->pc;

	memset(pc->state->page + pc->n_pages, PC_ABSENT,
	       bytes / PC_PAGE - pc->n_pages);
	pc->n_pages = bytes / PC_PAGE;
	pc->state->size = bytes;
	file->bytes = bytes;
}

void sim_files_init(struct sim_files *files, uint32_t host, uint8_t *page,
		    uint8_t *disk, const struct sim_files_settings *settings,
		    uint64_t seed)
{
	uint64_t at = SIM_FILES_AT + 4 * host * SIM_FILE_BYTES;

	if (!files->store.pc.page) {
		uint8_t *more = sim_map(at, 4 * SIM_FILE_BYTES);

		files->store.pc.page = page;
		files->store.pc.disk = disk;
		files->store.pc.clean = more;
		files->slow.pc.page = more + SIM_FILE_BYTES;
		files->slow.pc.disk = more + 2 * SIM_FILE_BYTES;
		files->slow.pc.clean = more + 3 * SIM_FILE_BYTES;
		(void)pthread_mutex_init(&files->store.pc.io, NULL);
		(void)pthread_mutex_init(&files->slow.pc.io, NULL);
	}
	files->chance = seed;
	files->super = (struct pc_errseq){ 0 };
	file_init(files, &files->store, "store", settings->store_bytes);
	file_init(files, &files->slow, "slow", settings->slow_bytes);
	memset(files->nodes, 0, sizeof(files->nodes));
	files->mount_id = settings->has_mount_id;
	files->run_is_closed = settings->run_is_closed;
	files->write_back_permille = settings->write_back_permille;
	files->ends = NULL;
	files->n_failed = 0;
	files->sync_ns = settings->sync_ns;
	files->left_behind = files->zeroed = 0;
}
