/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A model of a brick in a file, behind the library's interface: brickctl is
 * linked with it in place of libkfbrick to test brickctl alone.
 *
 * The environment steers it:
 * MODEL		the file with the model's state, made when missing
 * MODEL_FAIL		"CALL=ERRNO,...": these calls fail, ERRNO is a number;
 *			"CALL@N=ERRNO": only the Nth time
 * MODEL_LOG		a file that gets a line for each call
 * MODEL_VOLATILE	the medium keeps nothing
 * MODEL_REVERSE	completions come last first
 * MODEL_PAGE		extents in a page of a list
 * MODEL_CHANGING	the change counter rises with each page
 */
#ifndef TESTS_UNIT_BRICKCTL_MODEL_H
#define TESTS_UNIT_BRICKCTL_MODEL_H

#include "initiator/lib/kfbrick.h"

#define MODEL_BLOCKS 100
/* So many of them are not at 0 but the last of the address space. */
#define MODEL_TOP	4
#define MODEL_MAPPINGS	16
#define MODEL_BATCH_MAX 32
#define MODEL_DEPTH	16

struct kfbrick_mapping {
	uint64_t id; /* 0: free */
	uint64_t first;
	uint64_t n_blocks;
	uint32_t flags;
	struct kfbrick_handle handle;
};

/* What outlives a process: the start of the file; the blocks follow. */
struct model_state {
	uint64_t next_id;
	uint64_t flushes;
	uint8_t allocated[MODEL_BLOCKS];
	struct kfbrick_mapping mappings[MODEL_MAPPINGS];
};

struct kfbrick_memory {
	const uint8_t *addr;
	size_t len;
};

struct kfbrick {
	struct model_state *state;
	uint8_t *blocks;
	struct kfbrick_memory memory;
	struct kfbrick_completion done[MODEL_DEPTH];
	unsigned int n_done;
};

/* The place of a block, or MODEL_BLOCKS when there is none. */
uint64_t model_block(uint64_t va);

/* Return: 0, or the failure that MODEL_FAIL asks of this call. */
int model_enter(const char *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
