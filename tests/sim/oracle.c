// SPDX-License-Identifier: BSD-2-Clause
/* The oracle: see oracle.h. */
#include "oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "world.h"

/* A word: the write's serial number, the register's, and the word's. */
#define WORD_BITS     10
#define REGISTER_BITS 12
#define WORD_MASK     ((UINT64_C(1) << WORD_BITS) - 1)
#define REGISTER_MASK ((UINT64_C(1) << REGISTER_BITS) - 1)

char sim_violation[512];

void sim_violated(const char *fmt, ...)
{
	va_list ap;

	sim.is_over = true;
	if (*sim_violation)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(sim_violation, sizeof(sim_violation), fmt, ap);
	va_end(ap);
	sim_trace("oracle", "%s", sim_violation);
}

static uint64_t word_of(const struct sim_register *r, uint64_t serial,
			uint32_t word)
{
	if (!serial)
		return 0;
	return serial << (WORD_BITS + REGISTER_BITS) |
	       (uint64_t)r->number << WORD_BITS | word;
}

void sim_register_init(struct sim_register *r, uint32_t number, uint64_t va,
		       uint32_t n_words)
{
	memset(r, 0, sizeof(*r));
	r->number = number;
	r->va = va;
	r->n_words = n_words;
	sim_register_zeros(r);
}

void sim_register_zeros(struct sim_register *r)
{
	r->n = 1;
	r->writes[0] = (struct sim_written){ .state = SIM_WRITE_DONE };
	r->is_in_doubt = r->is_unsure = false;
}

/* ---- writes -------------------------------------------------------------- */

static struct sim_written *newest(struct sim_register *r)
{
	return &r->writes[r->n - 1];
}

bool sim_register_has_room(const struct sim_register *r)
{
	return r->n < SIM_WRITES_MAX &&
	       r->writes[r->n - 1].state != SIM_WRITE_PENDING;
}

static void begin_write(struct sim_register *r, uint32_t epoch, bool is_zero)
{
	r->serial++;
	r->writes[r->n++] = (struct sim_written){
		.serial = r->serial,
		.epoch = epoch,
		.is_zero = is_zero,
		.state = SIM_WRITE_PENDING,
	};
}

void sim_register_write_zeros(struct sim_register *r, uint32_t epoch)
{
	begin_write(r, epoch, true);
}

void sim_register_write(struct sim_register *r, uint32_t epoch, uint64_t *words)
{
	begin_write(r, epoch, false);
	for (uint32_t i = 0; i < r->n_words; i++)
		words[i] = word_of(r, r->serial, i);
}

void sim_register_written(struct sim_register *r, bool is_done)
{
	newest(r)->state = is_done ? SIM_WRITE_DONE : SIM_WRITE_UNKNOWN;
	r->is_unsure &= !is_done;
	/* Written anew, whatever had been lost. */
	if (is_done && r->serial > r->doubted)
		r->is_in_doubt = false;
}

void sim_register_give_up(struct sim_register *r)
{
	if (newest(r)->state == SIM_WRITE_PENDING)
		newest(r)->state = SIM_WRITE_UNKNOWN;
}

/* ---- flushes ------------------------------------------------------------- */

uint64_t sim_register_mark(const struct sim_register *r, uint32_t epoch)
{
	/* What is lost no flush covers, nor what had failed. */
	for (uint32_t i = r->is_in_doubt || r->is_unsure ? 0 : r->n; i--;)
		if (r->writes[i].state == SIM_WRITE_DONE)
			return r->writes[i].epoch == epoch ? r->writes[i].serial
							   : 0;
	return 0;
}

static void forget_before(struct sim_register *r, uint32_t first)
{
	r->n -= first;
	memmove(r->writes, r->writes + first, r->n * sizeof(*r->writes));
}

void sim_register_flushed(struct sim_register *r, uint64_t mark)
{
	for (uint32_t i = 1; mark && i < r->n; i++) {
		if (r->writes[i].serial != mark)
			continue;
		forget_before(r, i);
		return;
	}
}

void sim_register_lost(struct sim_register *r)
{
	r->is_in_doubt = true;
	/* What is under way, and completes all the same, is there. */
	r->doubted =
		r->serial - (newest(r)->state == SIM_WRITE_PENDING ? 1 : 0);
}

void sim_register_power(struct sim_register *r)
{
	if (r->is_unsure)
		sim_register_lost(r);
}

/* ---- reads --------------------------------------------------------------- */

/* The first that may be read. */
static uint32_t first_of(const struct sim_register *r)
{
	uint32_t i = r->n - 1;

	if (r->is_in_doubt)
		return 0;
	while (i && r->writes[i].state != SIM_WRITE_DONE)
		i--;
	return i;
}

/* The serial number that is read of it. */
static uint64_t shows(const struct sim_written *w)
{
	return w->is_zero ? 0 : w->serial;
}

static bool is_one_of(const struct sim_register *r, uint32_t first,
		      uint64_t serial)
{
	for (uint32_t i = first; i < r->n; i++)
		if (shows(&r->writes[i]) == serial)
			return true;
	return false;
}

static void wrong(const struct sim_register *r, uint32_t first, uint32_t word,
		  uint64_t found)
{
	uint64_t serial = found >> (WORD_BITS + REGISTER_BITS);
	uint64_t number = found >> WORD_BITS & REGISTER_MASK;

	if (found && (number != r->number || (found & WORD_MASK) != word))
		sim_violated("register %u at 0x%llx, word %u: it holds word "
			     "%llu of register %llu, write %llu",
			     r->number, (unsigned long long)r->va, word,
			     (unsigned long long)(found & WORD_MASK),
			     (unsigned long long)number,
			     (unsigned long long)serial);
	else
		sim_violated("register %u at 0x%llx, word %u: write %llu was "
			     "read, where nothing before write %llu may be%s",
			     r->number, (unsigned long long)r->va, word,
			     (unsigned long long)serial,
			     (unsigned long long)r->writes[first].serial,
			     r->is_in_doubt ? " (a flush has covered it)" : "");
}

/*
 * What was read as a whole is there now, and nothing newer of an earlier
 * connection can come, nor of what was lost. What was in doubt stays so until it
 * is written anew: whoever knows of a loss is not told of it again.
 */
static void settle(struct sim_register *r, uint32_t epoch, uint32_t at)
{
	uint32_t n = at + 1;

	r->is_unsure |= r->writes[at].state == SIM_WRITE_UNKNOWN;
	r->writes[at].state = SIM_WRITE_DONE;
	for (uint32_t i = n; i < r->n; i++)
		if (!r->is_in_doubt && r->writes[i].epoch == epoch)
			r->writes[n++] = r->writes[i];
	r->n = n;
}

bool sim_register_look(const struct sim_register *r, const uint64_t *words)
{
	uint64_t serial = words[0] >> (WORD_BITS + REGISTER_BITS);
	uint32_t first = first_of(r);
	bool is_whole = true;

	for (uint32_t i = 0; i < r->n_words; i++) {
		uint64_t found = words[i] >> (WORD_BITS + REGISTER_BITS);

		if (words[i] != word_of(r, found, i) ||
		    !is_one_of(r, first, found)) {
			wrong(r, first, i, words[i]);
			return false;
		}
		is_whole &= found == serial;
	}
	return is_whole;
}

void sim_register_read(struct sim_register *r, uint32_t epoch,
		       const uint64_t *words)
{
	uint64_t serial = words[0] >> (WORD_BITS + REGISTER_BITS);
	uint32_t i;

	if (!sim_register_look(r, words))
		return;
	for (i = first_of(r); shows(&r->writes[i]) != serial; i++)
		;
	/* Of zeros that were written twice, nobody knows which they are. */
	if (!is_one_of(r, i + 1, serial))
		settle(r, epoch, i);
}

void sim_register_seen(const struct sim_register *r, uint64_t floor,
		       const uint64_t *words)
{
	for (uint32_t i = 0; i < r->n_words; i++) {
		uint64_t serial = words[i] >> (WORD_BITS + REGISTER_BITS);

		if (words[i] == word_of(r, serial, i) && serial >= floor &&
		    serial <= r->serial)
			continue;
		sim_violated(
			"register %u at 0x%llx, word %u: another host has read %llx, where a flush had covered write %llu",
			r->number, (unsigned long long)r->va, i,
			(unsigned long long)words[i],
			(unsigned long long)floor);
		return;
	}
}
