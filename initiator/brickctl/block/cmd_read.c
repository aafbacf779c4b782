// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl read: copies bytes out of blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "initiator/brickctl/base/brickctl.h"
#include "initiator/brickctl/base/progress.h"
#include "initiator/brickctl/block/transfer.h"

#define MODE_OUTPUT 0666

enum {
	OPT_LENGTH,
	OPT_OUTPUT
};

static const struct ctl_option options[] = {
	[OPT_LENGTH] = { "length", 'l', "BYTES",
			 "how many; may end in K, M, G, T" },
	[OPT_OUTPUT] = { "output", 'o', "FILE", "in place of standard output" },
	{ NULL },
};

struct read_job {
	uint64_t va;
	uint64_t len;
	const char *path; /* NULL: standard output */
	int fd;
	struct ctl_progress progress;
};

static int take_out(struct ctl *ctl, struct read_job *job,
		    struct ctl_chunk *chunk)
{
	int err;

	if (!chunk->filled)
		return CTL_DONE;
	chunk->filled = false;
	err = ctl_write_full(job->fd, chunk->data, chunk->len);
	if (err)
		return ctl_fail(ctl, CTL_USAGE, err,
				"what was written of it before is there",
				"%s, bytes of 0x%" PRIx64 ": %s",
				job->path ? job->path : "standard output",
				chunk->va, strerror(-err));
	ctl_progress_add(&job->progress, chunk->len);
	return CTL_DONE;
}

/* Each chunk is emptied just before it is used again, so in order. */
static int copy_out(struct ctl_transfer *t, struct read_job *job)
{
	struct ctl_chunk *chunk;
	unsigned int n_emptied = 0; /* after the last was posted */
	uint64_t done = 0;
	size_t len;
	int status;

	while (n_emptied < CTL_CHUNKS_DEPTH) {
		status = ctl_transfer_next(t, &chunk);
		if (!status)
			status = take_out(t->ctl, job, chunk);
		if (status)
			return status;
		if (done == job->len) {
			n_emptied++;
			continue;
		}
		len = ctl_block_rest(job->va + done);
		if (len > job->len - done)
			len = job->len - done;
		status =
			ctl_transfer_post(t, chunk, job->va + done, len, false);
		if (status)
			return status;
		done += len;
	}
	return CTL_DONE;
}

static int map_and_copy(struct ctl *ctl, struct read_job *job)
{
	struct kfbrick_mapping *mapping = NULL;
	struct ctl_transfer transfer;
	uint64_t n_blocks;
	uint64_t first;
	int status;
	int err;

	n_blocks = ctl_byte_range_blocks(job->va, job->len, &first);
	err = kfbrick_map(ctl->k, first, n_blocks,
			  KFBRICK_MAP_RO | KFBRICK_MAP_SHARED, &mapping);
	if (err)
		return ctl_fail_range(ctl, err, first, n_blocks);
	status = ctl_transfer_open(&transfer, ctl);
	ctl_progress_start(&job->progress, ctl, "reading", job->len);
	if (!status)
		status = copy_out(&transfer, job);
	ctl_progress_stop(&job->progress);
	ctl_transfer_close(&transfer);
	if (status)
		return status;
	err = kfbrick_unmap(ctl->k, mapping);
	if (err)
		return ctl_fail_call(ctl, err, "unmapping 0x%" PRIx64, first);
	return CTL_DONE;
}

/* Only once the brick has answered is there something to replace a file by. */
static int read_to_file(struct ctl *ctl, struct read_job *job)
{
	char size[CTL_SIZE_TEXT_BYTES];
	struct json_object *object;
	int status;

	job->fd = open(job->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		       MODE_OUTPUT);
	if (job->fd < 0)
		return ctl_fail(ctl, CTL_USAGE, -errno, "name another file",
				"%s: %s", job->path, strerror(errno));
	status = map_and_copy(ctl, job);
	if (close(job->fd) && !status)
		status = ctl_fail(ctl, CTL_USAGE, -errno, "read it again",
				  "%s: %s", job->path, strerror(errno));
	if (status)
		return status;
	object = json_object_new_object();
	ctl_json_hex(object, "va", job->va);
	ctl_json_count(object, "length", job->len);
	ctl_json_text(object, "output", job->path);
	return ctl_done(ctl, object, "%s read at 0x%" PRIx64 " into %s\n",
			ctl_size_text(size, job->len), job->va, job->path);
}

static int read_job(struct ctl *ctl, const struct ctl_args *args,
		    struct read_job *job)
{
	int status;

	if (!args->options[OPT_LENGTH])
		return ctl_usage(ctl, "needs --length");
	status = ctl_read_number(ctl, "address", args->words[0], 0, UINT64_MAX,
				 &job->va);
	if (!status)
		status = ctl_read_option(ctl, args, OPT_LENGTH, 0, UINT64_MAX,
					 &job->len);
	if (status)
		return status;
	if (!job->len)
		return ctl_usage(ctl, "--length 0: nothing to read");
	if (job->len - 1 > UINT64_MAX - job->va)
		return ctl_usage(ctl,
				 "%" PRIu64 " bytes at 0x%" PRIx64
				 ": past the end of the address space",
				 job->len, job->va);
	job->path = args->options[OPT_OUTPUT];
	if (job->path && !strcmp(job->path, "-"))
		job->path = NULL;
	return CTL_DONE;
}

static int run_read(struct ctl *ctl, const struct ctl_args *args)
{
	struct read_job job = { .fd = STDOUT_FILENO };
	int status;

	status = read_job(ctl, args, &job);
	if (!status)
		status = ctl_connect(ctl);
	if (status)
		return status;
	/* A line in between would spoil what is read onto the terminal. */
	if (!job.path && isatty(STDOUT_FILENO))
		ctl->quiet = true;
	return job.path ? read_to_file(ctl, &job) : map_and_copy(ctl, &job);
}

const struct ctl_command ctl_cmd_read = {
	.name = "read",
	.synopsis = "VA --length BYTES [-o FILE]",
	.summary = "Copies bytes out of blocks, one-sidedly",
	.details =
		"VA is any byte address inside allocated blocks. The blocks are mapped to read,\n"
		"shared, while it lasts.\n"
		"\n"
		"Example: brickctl read 0x0 --length 256M -o copy",
	.options = options,
	.words = 1,
	.run = run_read,
};
