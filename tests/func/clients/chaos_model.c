// SPDX-License-Identifier: BSD-2-Clause
/* The model behind chaos-load; see chaos_model.h. */
#include "chaos_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CELL_WORDS (MODEL_CELL_BYTES / 8)

static uint64_t word_of(const struct model *m, unsigned int block,
			uint32_t generation)
{
	return (uint64_t)m->client << 56 | (uint64_t)block << 48 |
	       (uint64_t)(m->blocks[block].life & 0xffff) << 32 | generation;
}

void model_set(struct model *m, unsigned int first, unsigned int n,
	       bool allocated)
{
	unsigned int i;

	for (i = first; i < first + n; i++) {
		m->blocks[i].allocated = allocated;
		if (allocated)
			m->blocks[i].life++;
		memset(m->blocks[i].cells, 0, sizeof(m->blocks[i].cells));
	}
}

void model_next(struct model *m, unsigned int block, unsigned int cell,
		uint64_t *words)
{
	struct model_cell *c = &m->blocks[block].cells[cell];
	unsigned int i;

	c->newest++;
	for (i = 0; i < CELL_WORDS; i++)
		words[i] = word_of(m, block, c->newest);
}

void model_completed(struct model *m, unsigned int block, unsigned int cell)
{
	struct model_cell *c = &m->blocks[block].cells[cell];

	c->completed = c->newest;
}

void model_flushed(struct model *m, unsigned int first, unsigned int n)
{
	unsigned int i, j;

	for (i = first; i < first + n; i++)
		for (j = 0; j < MODEL_CELLS; j++)
			m->blocks[i].cells[j].durable =
				m->blocks[i].cells[j].completed;
}

/* All or none of the open operation's blocks may have changed. */
static const char *resolve_open_op(struct model *m, const bool *present)
{
	struct model_open_op *op = &m->open_op;
	unsigned int i, n_present = 0;

	if (!op->open)
		return NULL;
	for (i = op->first; i < op->first + op->n; i++)
		n_present += present[i];
	if (n_present && n_present != op->n)
		return "an unacknowledged operation was done by half";
	if (op->is_alloc == !!n_present)
		model_set(m, op->first, op->n, op->is_alloc);
	op->open = false;
	return NULL;
}

const char *model_resolve(struct model *m, const bool *present)
{
	const char *wrong = resolve_open_op(m, present);
	unsigned int i;

	for (i = 0; !wrong && i < m->n; i++) {
		if (m->blocks[i].allocated && !present[i])
			wrong = "an acknowledged ALLOC is lost";
		else if (!m->blocks[i].allocated && present[i])
			wrong = "an acknowledged FREE is lost";
	}
	return wrong;
}

static const char *say(unsigned int block, uint64_t offset, uint64_t word,
		       const char *what)
{
	static char text[160];

	snprintf(text, sizeof(text),
		 "block %u, offset 0x%" PRIx64 ", word 0x%016" PRIx64 ": %s",
		 block, offset, word, what);
	return text;
}

static const char *check_cell_word(const struct model *m, unsigned int block,
				   unsigned int cell, uint64_t word)
{
	const struct model_cell *c = &m->blocks[block].cells[cell];
	uint32_t generation = (uint32_t)word;

	if (!word)
		return c->durable ? "a flushed write is lost" : NULL;
	if (word != word_of(m, block, generation))
		return "bytes of another client, block or life";
	if (generation < c->durable)
		return "an older write than the flushed one";
	if (generation > c->newest)
		return "a write that was never posted";
	return NULL;
}

/* A completed write that is gone is not what the next flush covers. */
static void note_seen(struct model *m, unsigned int block, unsigned int cell,
		      uint64_t word)
{
	struct model_cell *c = &m->blocks[block].cells[cell];

	if ((uint32_t)word < c->completed)
		c->completed = (uint32_t)word;
}

const char *model_check(struct model *m, unsigned int block,
			const uint8_t *bytes)
{
	uint64_t offset, word;
	const char *wrong;

	for (offset = 0; offset < KFBRICK_BLOCK_BYTES; offset += sizeof(word)) {
		unsigned int cell = offset / MODEL_CELL_STRIDE;

		memcpy(&word, bytes + offset, sizeof(word));
		if (offset % MODEL_CELL_STRIDE < MODEL_CELL_BYTES)
			wrong = check_cell_word(m, block, cell, word);
		else
			wrong = word ? "should be zero" : NULL;
		if (wrong)
			return say(block, offset, word, wrong);
		if (offset % MODEL_CELL_STRIDE < MODEL_CELL_BYTES)
			note_seen(m, block, cell, word);
	}
	return NULL;
}
