// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl write: copies bytes into blocks and makes them durable.
 *
 * When the length is known all blocks are mapped at once, so that nothing is
 * written when some are missing. The blocks of a pipe are mapped in windows,
 * as its bytes come.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "initiator/brickctl/base/brickctl.h"
#include "initiator/brickctl/base/progress.h"
#include "initiator/brickctl/block/transfer.h"

/* Blocks of a pipe to map at a time, halved when so many are not there. */
#define WINDOW_BLOCKS 64

enum {
	OPT_INPUT,
	OPT_LENGTH,
	OPT_NO_FLUSH,
	OPT_SHARED
};

static const struct ctl_option options[] = {
	[OPT_INPUT] = { "input", 'i', "FILE", "in place of standard input" },
	[OPT_LENGTH] = { "length", 'l', "BYTES",
			 "write so many; all there are" },
	[OPT_NO_FLUSH] = { "no-flush", 0, NULL, "do not make them durable" },
	[OPT_SHARED] = { "shared", 0, NULL,
			 "others may have them mapped shared" },
	{ NULL },
};

struct write_job {
	struct ctl *ctl;
	const char *path; /* NULL: standard input */
	int fd;
	uint64_t va;
	uint64_t len; /* when it is known */
	bool len_known;
	bool flush;
	unsigned int map_flags;
	struct kfbrick_info info;
	struct ctl_transfer transfer;
	struct kfbrick_mapping *mapping;
	uint64_t mapped_end; /* 0: nothing mapped, or to the very end */
	uint64_t done; /* bytes posted */
	struct ctl_progress progress;
};

static int unmap_written(struct write_job *job)
{
	int status;
	int err;

	if (!job->mapping)
		return CTL_DONE;
	status = job->flush ? ctl_transfer_flush(&job->transfer)
			    : ctl_transfer_drain(&job->transfer);
	if (status)
		return status;
	err = kfbrick_unmap(job->ctl->k, job->mapping);
	job->mapping = NULL;
	if (err)
		return ctl_fail_call(job->ctl, err,
				     "unmapping before 0x%" PRIx64,
				     job->va + job->done);
	return CTL_DONE;
}

static int map_window(struct write_job *job, uint64_t va)
{
	struct ctl *ctl = job->ctl;
	uint64_t n_blocks;
	uint64_t first;
	int status;
	int err;

	status = unmap_written(job);
	if (status)
		return status;
	if (job->len_known) {
		n_blocks =
			ctl_byte_range_blocks(va, job->len - job->done, &first);
	} else {
		first = va - va % KFBRICK_BLOCK_BYTES;
		/* From the last block 2^64 is 2 MiB away, from the first 0. */
		n_blocks = (0 - first) / KFBRICK_BLOCK_BYTES;
		if (!n_blocks || n_blocks > WINDOW_BLOCKS)
			n_blocks = WINDOW_BLOCKS;
	}
	for (;;) {
		err = kfbrick_map(ctl->k, first, n_blocks, job->map_flags,
				  &job->mapping);
		if (job->len_known || n_blocks == 1 ||
		    (err != -ENOENT && err != -EACCES && err != -EBUSY &&
		     err != -ENOSPC))
			break;
		/* The pipe may end before what is missing is needed. */
		n_blocks /= 2;
	}
	if (err && job->done)
		ctl_note(ctl, "%" PRIu64 " bytes are written before what fails",
			 job->done);
	if (err)
		return ctl_fail_range(ctl, err, first, n_blocks);
	job->mapped_end = first + ctl_blocks_bytes(n_blocks);
	return CTL_DONE;
}

static int fail_input(struct write_job *job, int err)
{
	const char *name = job->path ? job->path : "standard input";

	if (!err)
		return ctl_fail(job->ctl, CTL_USAGE, 0,
				"what there was has been written",
				"%s: ended after %" PRIu64 " of %" PRIu64
				" bytes",
				name, job->done, job->len);
	return ctl_fail(job->ctl, CTL_USAGE, err,
			"what there was before has been written",
			"%s, after %" PRIu64 " bytes: %s", name, job->done,
			strerror(-err));
}

/* Return: CTL_GO_ON when there may be more. */
static int write_chunk(struct write_job *job)
{
	uint64_t va = job->va + job->done;
	struct ctl_chunk *chunk;
	size_t len;
	ssize_t n;
	int status;

	len = ctl_block_rest(va);
	if (job->len_known && len > job->len - job->done)
		len = job->len - job->done;
	if (!len)
		return CTL_DONE;
	status = ctl_transfer_next(&job->transfer, &chunk);
	if (status)
		return status;
	n = ctl_read_full(job->fd, chunk->data, len);
	if (n < 0 || (!n && job->len_known))
		return fail_input(job, (int)n);
	if (!n)
		return CTL_DONE;
	if (job->done && !va)
		return ctl_fail(
			job->ctl, CTL_USAGE, -EOVERFLOW,
			"what was before it has been written",
			"0x%" PRIx64
			": the input passes the end of the address space",
			job->va);
	if (!job->mapping || va == job->mapped_end) {
		status = map_window(job, va);
		if (status)
			return status;
	}
	job->ctl->under_way = true;
	status = ctl_transfer_post(&job->transfer, chunk, va, (size_t)n, true);
	if (status)
		return status;
	job->done += (uint64_t)n;
	ctl_progress_add(&job->progress, (uint64_t)n);
	return CTL_GO_ON;
}

/* What came before a short input's end is made durable all the same. */
static int copy_in(struct write_job *job)
{
	int status;
	int end;

	ctl_progress_start(&job->progress, job->ctl, "writing",
			   job->len_known ? job->len : 0);
	do
		status = write_chunk(job);
	while (status == CTL_GO_ON);
	if (status && status != CTL_USAGE) {
		ctl_progress_stop(&job->progress);
		return status;
	}
	end = unmap_written(job);
	ctl_progress_stop(&job->progress);
	return status ? status : end;
}

static int connect_and_copy(struct write_job *job)
{
	struct ctl *ctl = job->ctl;
	int status = ctl_connect_info(ctl, &job->info);
	char size[CTL_SIZE_TEXT_BYTES];
	struct json_object *object;
	bool durable;

	if (status)
		return status;
	if (job->info.flush_mode == KFBRICK_FLUSH_NONE) {
		ctl_note(ctl, "%s is volatile: nothing is durable there",
			 ctl->settings.brick);
		job->flush = false;
	}
	status = ctl_transfer_open(&job->transfer, ctl);
	if (!status)
		status = copy_in(job);
	ctl_transfer_close(&job->transfer);
	if (status)
		return status;
	durable = job->flush && job->done;
	object = json_object_new_object();
	ctl_json_hex(object, "va", job->va);
	ctl_json_count(object, "length", job->done);
	ctl_json_bool(object, "durable", durable);
	ctl_json_text(object, "flush_mode",
		      ctl_flush_name(job->info.flush_mode));
	return ctl_done(ctl, object, "%s written at 0x%" PRIx64 "%s\n",
			ctl_size_text(size, job->done), job->va,
			durable ? ", durable" : "");
}

/* A regular file tells how long it is; it must hold what is asked for. */
static int measure_input(struct write_job *job)
{
	uint64_t left = 0;
	struct stat st;
	off_t at;

	if (fstat(job->fd, &st))
		return fail_input(job, -errno);
	if (S_ISDIR(st.st_mode))
		return fail_input(job, -EISDIR);
	at = lseek(job->fd, 0, SEEK_CUR);
	if (!S_ISREG(st.st_mode) || at < 0)
		return CTL_DONE;
	if (st.st_size > at)
		left = (uint64_t)(st.st_size - at);
	if (job->len_known && job->len > left)
		return ctl_usage(job->ctl,
				 "--length %" PRIu64 ": %s has %" PRIu64
				 " bytes",
				 job->len,
				 job->path ? job->path : "standard input",
				 left);
	if (!job->len_known)
		job->len = left;
	job->len_known = true;
	return CTL_DONE;
}

static int read_write_arguments(struct ctl *ctl, const struct ctl_args *args,
				struct write_job *job)
{
	int status;

	job->path = args->options[OPT_INPUT];
	if (job->path && !strcmp(job->path, "-"))
		job->path = NULL;
	job->flush = !args->options[OPT_NO_FLUSH];
	job->map_flags = KFBRICK_MAP_RW;
	job->map_flags |= args->options[OPT_SHARED] ? KFBRICK_MAP_SHARED
						    : KFBRICK_MAP_EXCLUSIVE;
	job->len_known = args->options[OPT_LENGTH];
	status = ctl_read_number(ctl, "address", args->words[0], 0, UINT64_MAX,
				 &job->va);
	return status ? status
		      : ctl_read_option(ctl, args, OPT_LENGTH, 0, UINT64_MAX,
					&job->len);
}

static int run_write(struct ctl *ctl, const struct ctl_args *args)
{
	struct write_job job = { .ctl = ctl, .fd = STDIN_FILENO };
	int status;

	status = read_write_arguments(ctl, args, &job);
	if (status)
		return status;
	if (job.path)
		job.fd = open(job.path, O_RDONLY | O_CLOEXEC);
	if (job.fd < 0)
		return ctl_fail(ctl, CTL_USAGE, -errno, "name another file",
				"%s: %s", job.path, strerror(errno));
	status = measure_input(&job);
	if (!status && job.len_known && job.len &&
	    job.len - 1 > UINT64_MAX - job.va)
		status = ctl_usage(ctl,
				   "%" PRIu64 " bytes at 0x%" PRIx64
				   ": past the end of the address space",
				   job.len, job.va);
	if (!status)
		status = connect_and_copy(&job);
	if (job.path)
		close(job.fd);
	return status;
}

const struct ctl_command ctl_cmd_write = {
	.name = "write",
	.synopsis = "VA [-i FILE] [--length BYTES] [--no-flush] [--shared]",
	.summary =
		"Copies bytes into blocks, one-sidedly, and makes them durable",
	.details =
		"VA is any byte address inside allocated blocks. The blocks are mapped to write,\n"
		"exclusively unless --shared, while it lasts. When it returns 0 without\n"
		"--no-flush all bytes are durable, unless the brick is volatile, which a note\n"
		"says. A file, or --length, maps everything before the first byte; the blocks of\n"
		"a pipe are mapped as its bytes come.\n"
		"\n"
		"Example: tar -C data -c . | brickctl write 4G",
	.options = options,
	.words = 1,
	.changes = true,
	.run = run_write,
};
