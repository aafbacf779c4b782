/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What powerfail-writer writes where: all of it follows from a few numbers, so
 * that the notes of a run need only say how far it was flushed.
 *
 * Each job writes records of its own slots, numbered from 1. Each 8-byte word of
 * a record tells its number, and a check of run, slot, word and number: memory
 * is written in pieces of 8 bytes at least, so whatever a loss of power leaves,
 * each word says where it comes from.
 */
#ifndef INITIATOR_POWERFAIL_PLAN_H
#define INITIATOR_POWERFAIL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define PLAN_WORD	8
#define PLAN_RECORD_MIN 512
#define PLAN_RECORD_MAX (1U << 20)
#define PLAN_JOBS_MAX	64

/**
 * struct plan - of one run
 * @run: which slot each record goes to: random, or given to do it again
 * @salt: a random number, always: what an older run of the same @run has left
 *	is foreign
 * @offset: first byte that is used
 * @size: bytes, a multiple of @record
 * @record: bytes of each record, a multiple of 512
 * @jobs: how many write at the same time
 */
struct plan {
	uint64_t run;
	uint64_t salt;
	uint64_t offset;
	uint64_t size;
	uint32_t record;
	uint32_t jobs;
};

/* What a word is, at some place. */
enum plan_word {
	PLAN_OURS, /* record and place are right */
	PLAN_ZERO,
	PLAN_MISPLACED, /* it belongs elsewhere */
	PLAN_FOREIGN, /* no word of this run */
};

/* 64 bits that follow from two numbers. */
uint64_t plan_mix(uint64_t a, uint64_t b);

bool plan_is_valid(const struct plan *p);

/* How many slots there are; slot s is job s % jobs's. */
uint64_t plan_slots(const struct plan *p);

/* The slot of a job's record number seq. */
uint64_t plan_slot(const struct plan *p, uint32_t job, uint32_t seq);

/* What record number seq has in a slot's word. */
uint64_t plan_value(const struct plan *p, uint64_t slot, uint32_t index,
		    uint32_t seq);

/* Fills a record. */
void plan_fill(const struct plan *p, uint64_t slot, uint32_t seq, void *record);

/**
 * plan_validate - what is a word?
 * @p: the plan
 * @slot: where it was found
 * @index: of the word in its record
 * @word: its value
 * @seq: the number of its record, when it is one of this run
 */
enum plan_word plan_validate(const struct plan *p, uint64_t slot,
			     uint32_t index, uint64_t word, uint32_t *seq);

#endif
