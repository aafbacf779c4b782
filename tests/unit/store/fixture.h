/* SPDX-License-Identifier: BSD-2-Clause */
/* A store in memory whose medium counts, fails and can be looked into. */
#ifndef TESTS_STORE_FIXTURE_H
#define TESTS_STORE_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/store/store_impl.h"

#define BLOCK KFB_BLOCK_BYTES

struct fixture {
	struct brick_media *m;
	struct brick_store *s;
	char err[512];
	uint8_t *before; /* metadata, from fixture_snapshot() */
	uint64_t before_len;
};

/* What the fixture's medium has seen; one fixture at a time. */
struct fixture_seen {
	unsigned int n_drains;
	unsigned int n_zeros;
	uint64_t flushed_bytes; /* of data slots */
	unsigned int fail_at; /* the n-th drain fails, and all later; 0: none */
	void (*on_drain)(struct fixture *fx, unsigned int n);
};

extern struct fixture_seen fixture_seen;

/* Format n slots in memory; not open yet. The kind is a plain file's. */
void fixture_format(struct fixture *fx, uint64_t n_slots);
/* Open with a boot id; the open's result. */
int fixture_try_open(struct fixture *fx, uint8_t boot);
void fixture_open(struct fixture *fx, uint8_t boot);
/* Forget the open store as a killed process does: nothing is written. */
void fixture_kill(struct fixture *fx);
void fixture_close(struct fixture *fx, bool clean);
void fixture_free(struct fixture *fx);

/* One operation on its own; its result. */
int fixture_alloc(struct fixture *fx, uint64_t va, uint64_t n);
int fixture_release(struct fixture *fx, uint64_t va, uint64_t n);
int fixture_birth(struct fixture *fx, uint64_t va, uint64_t n, uint32_t owner);
/* The whole way of one block to another tier; its error. */
int fixture_move(struct fixture *fx, uint64_t va, bool to_slow);

/* Remember the metadata, and compare. */
void fixture_snapshot(struct fixture *fx);
void fixture_assert_unchanged(struct fixture *fx);

/* The superblock as the medium has it. */
struct brick_super fixture_super(const struct fixture *fx);

#endif
