/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What clients may believe of the bytes that they have written: the oracle of the
 * simulated world.
 *
 * A register is some bytes of a block with one writer, who has one write of it
 * under way at a time. Each write has a serial number, which stands in every word
 * of it together with the register's own number: a word of another register, or
 * of another word of this one, is told apart.
 *
 * What may be read:
 *  - the newest write that has completed, or one after it whose outcome nobody
 *    knows; never an older one, and never one that had failed before a newer one
 *    completed. One that had failed, and was read, may be gone with the power, or with
 *    a medium that fails: no flush covers it;
 *  - when the client has been told of a loss, until it has written anew: any
 *    write from the newest that a flush has covered, each word for itself. A write
 *    that was under way and completes afterwards is written anew.
 */
#ifndef TESTS_SIM_ORACLE_H
#define TESTS_SIM_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_REGISTERS_MAX 256
#define SIM_WRITES_MAX	  32
#define SIM_WORDS_MAX	  512

enum sim_write_state {
	SIM_WRITE_PENDING,
	SIM_WRITE_DONE,
	SIM_WRITE_UNKNOWN, /* it may have arrived, or not, or in part */
};

/* A write that may still be read. */
struct sim_written {
	uint64_t serial; /* 0: the zeros of a new block */
	uint32_t epoch;
	bool is_zero; /* zeros were written */
	enum sim_write_state state;
};

/*
 * struct sim_register - what is known of one
 * @number: its own
 * @va: where it is
 * @n_words: of 8 bytes
 * @serial: of the newest write
 * @n: writes in @writes, oldest first; the first is the newest that a flush has
 *	covered, or that is known to be there
 * @is_in_doubt: the client has been told of a loss
 * @doubted: what had come to its end by then, up to this serial number
 * @is_unsure: a write that had failed is there, as was read: no flush covers it, and
 *	nobody is told when it is lost
 */
struct sim_register {
	uint32_t number;
	uint64_t va;
	uint32_t n_words;
	uint64_t serial;
	uint32_t n;
	struct sim_written writes[SIM_WRITES_MAX];
	bool is_in_doubt;
	uint64_t doubted;
	bool is_unsure;
};

/* The violation that was found first, in words; "": none. */
extern char sim_violation[512];
void sim_violated(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

void sim_register_init(struct sim_register *r, uint32_t number, uint64_t va,
		       uint32_t n_words);
/* Its block is new: it reads as zeros. */
void sim_register_zeros(struct sim_register *r);

/* Is there room to note another write? */
bool sim_register_has_room(const struct sim_register *r);
/* Begins a write of a client's connection number @epoch, and fills its bytes. */
void sim_register_write(struct sim_register *r, uint32_t epoch,
			uint64_t *words);
/* The same with zeros: none of its bytes are needed. */
void sim_register_write_zeros(struct sim_register *r, uint32_t epoch);
/* It has ended. */
void sim_register_written(struct sim_register *r, bool is_done);
/* Nobody waits for it any more. */
void sim_register_give_up(struct sim_register *r);

/* The newest that a flush, posted now, will cover; 0: none of this connection. */
uint64_t sim_register_mark(const struct sim_register *r, uint32_t epoch);
/* That flush has succeeded. */
void sim_register_flushed(struct sim_register *r, uint64_t mark);
/* The client has been told of a loss. */
void sim_register_lost(struct sim_register *r);
/* What no flush has covered may be gone: what had failed, and nobody is told. */
void sim_register_power(struct sim_register *r);

/*
 * Checks what was read when nothing was written meanwhile. It says nothing of what
 * may come later. Return: true: it is one write, and no other part of another.
 */
bool sim_register_look(const struct sim_register *r, const uint64_t *words);
/*
 * The same, over connection number @epoch: what is there now stays until it is
 * written anew.
 */
void sim_register_read(struct sim_register *r, uint32_t epoch,
		       const uint64_t *words);
/*
 * Checks what somebody else has read who shares the block, at any time, of a register
 * in which no zeros are written. @floor: of what a flush had covered when he began.
 */
void sim_register_seen(const struct sim_register *r, uint64_t floor,
		       const uint64_t *words);

#endif
