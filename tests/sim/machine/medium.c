// SPDX-License-Identifier: BSD-2-Clause
/* Persistent memory behind a cache, behind buffers: see medium.h. */
#include "medium.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/store/format/format.h"
#include "files.h"
#include "memory.h"
#include "process.h"

#define PAGE	  4096
#define WORD_BITS 64
#define HALF	  500 /* permille */
#define ATOM	  8

/* What brickd opens: gone when it closes it, or with its process. */
struct opened {
	struct brick_media m;
	struct sim_belonging belonging;
	struct sim_medium *medium;
};

static struct sim_medium *medium_of(struct brick_media *m)
{
	return ((struct opened *)m)->medium;
}

/* ---- lines --------------------------------------------------------------- */

static bool has_bit(const uint64_t *bits, uint64_t at)
{
	return bits[at / WORD_BITS] >> (at % WORD_BITS) & 1;
}

static void set_bit(uint64_t *bits, uint64_t at, bool value)
{
	uint64_t bit = UINT64_C(1) << (at % WORD_BITS);

	if (value)
		bits[at / WORD_BITS] |= bit;
	else
		bits[at / WORD_BITS] &= ~bit;
}

static bool is_dirty(const struct sim_medium *m, uint64_t line)
{
	return has_bit(m->dirty, line);
}

static void set_dirty(struct sim_medium *m, uint64_t line, bool dirty)
{
	set_bit(m->dirty, line, dirty);
}

static bool is_touched(const struct sim_medium *m, uint64_t page)
{
	return has_bit(m->touched, page);
}

static void touch(struct sim_medium *m, uint64_t off, uint64_t len)
{
	for (uint64_t page = off / PAGE; page <= (off + len - 1) / PAGE; page++)
		set_bit(m->touched, page, true);
}

/* What is newer reaches M: an older state of the line does not come after it. */
static void overtake(struct sim_medium *m, uint64_t line)
{
	if (!has_bit(m->waiting, line))
		return;
	set_bit(m->waiting, line, false);
	for (uint32_t i = 0; i < m->n_flushed; i++) {
		const struct sim_flushed *f = &m->flushed[i];

		if (f->line != line)
			continue;
		/* For whoever has flushed it before a fence of his is enough. */
		if (f->by != sim_current)
			memcpy(m->kept + line * SIM_LINE, f->bytes, SIM_LINE);
		m->flushed[i] = m->flushed[--m->n_flushed];
		return;
	}
}

static void write_back(struct sim_medium *m, uint64_t line)
{
	overtake(m, line);
	memcpy(m->kept + line * SIM_LINE, m->seen + line * SIM_LINE, SIM_LINE);
	set_dirty(m, line, false);
}

/* The CPU has stored there; what was in the cache may have made room. */
static void stored(struct sim_medium *m, uint64_t off, uint64_t len)
{
	uint64_t line = off / SIM_LINE;

	if (m->files) {
		sim_file_stored(m->files, &m->files->store, off, len);
		return;
	}
	touch(m, off, len);
	for (; line <= (off + len - 1) / SIM_LINE; line++)
		set_dirty(m, line, true);
	if (sim_chance_of(&m->chance, m->platform.evict_permille))
		write_back(m, off / SIM_LINE);
}

/*
 * A moment between two operations of brickd's: chance may hold it up there, and
 * what was to happen after so many of them happens.
 */
static void between(struct sim_medium *m, uint64_t off)
{
	bool counts = !m->cuts_head || off < BRICK_FMT_TABLES;

	if (!sim_current)
		return;
	if (m->until_cut && counts && !--m->until_cut) {
		sim_schedule(&m->cut, sim.now_ns);
		sim_yield();
		return;
	}
	sim_may_yield();
}

void sim_medium_cut_after(struct sim_medium *m, struct sim_cut cut)
{
	m->until_cut = cut.operations;
	m->cuts_head = cut.of_head;
}

/* ---- brickd's side ------------------------------------------------------- */

static void put(struct sim_medium *m, uint64_t off, const void *from,
		uint64_t len)
{
	memcpy(m->seen + off, from, len);
	stored(m, off, len);
}

static bool is_all_zero(const uint8_t *from, uint64_t len)
{
	return !*from && !memcmp(from, from + 1, len - 1);
}

static bool may_hold(const struct sim_medium *m, uint64_t page)
{
	return m->files ? has_bit(m->files->store.touched, page)
			: is_touched(m, page);
}

/* By pages: zeros where nothing else was ever stored change nothing. */
static void put_pages(struct sim_medium *m, uint64_t off, const uint8_t *from,
		      uint64_t len)
{
	while (len) {
		uint64_t n = PAGE - off % PAGE;

		n = n < len ? n : len;
		if (may_hold(m, off / PAGE) || !is_all_zero(from, n))
			put(m, off, from, n);
		from += n;
		off += n;
		len -= n;
	}
}

void sim_medium_copy(struct sim_medium *m, uint64_t off, const void *from,
		     uint64_t len)
{
	if (len < PAGE)
		put(m, off, from, len);
	else
		put_pages(m, off, from, len);
	between(m, off);
}

void sim_medium_zero(struct sim_medium *m, uint64_t off, uint64_t len)
{
	static const uint8_t zeros[PAGE];

	for (uint64_t n, at = off; len; at += n, len -= n) {
		n = PAGE - at % PAGE;
		n = n < len ? n : len;
		if (may_hold(m, at / PAGE))
			put(m, at, zeros, n);
	}
	between(m, off);
}

static void st64(struct brick_media *media, uint64_t off, uint64_t value)
{
	sim_medium_copy(medium_of(media), off, &value, sizeof(value));
}

static void copy(struct brick_media *media, uint64_t off, const void *src,
		 size_t len)
{
	if (len)
		sim_medium_copy(medium_of(media), off, src, len);
}

static void zero(struct brick_media *media, uint64_t off, size_t len)
{
	sim_medium_zero(medium_of(media), off, len);
}

static void drain_line(struct sim_medium *m, const struct sim_flushed *f)
{
	uint64_t off = (uint64_t)f->line * SIM_LINE;

	memcpy(m->kept + off, f->bytes, SIM_LINE);
	set_dirty(m, f->line, memcmp(m->seen + off, f->bytes, SIM_LINE) != 0);
	set_bit(m->waiting, f->line, false);
}

/* All that a thread has written back before is in M now; NULL: that all have. */
static void drained(struct sim_medium *m, const struct sim_thread *by)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_flushed; i++) {
		if (by && m->flushed[i].by != by)
			m->flushed[n++] = m->flushed[i];
		else
			drain_line(m, &m->flushed[i]);
	}
	m->n_flushed = n;
}

static void flush_line(struct sim_medium *m, uint64_t line)
{
	struct sim_flushed *f;

	if (m->n_flushed == SIM_FLUSHED_MAX ||
	    sim_chance_of(&m->chance, HALF)) {
		write_back(m, line);
		return;
	}
	overtake(m, line);
	f = &m->flushed[m->n_flushed++];
	f->by = sim_current;
	set_bit(m->waiting, line, true);
	f->line = (uint32_t)line;
	memcpy(f->bytes, m->seen + line * SIM_LINE, SIM_LINE);
}

static void flush(struct brick_media *media, uint64_t off, size_t len)
{
	struct sim_medium *m = medium_of(media);
	uint64_t line = off / SIM_LINE;
	uint64_t end = (off + len + SIM_LINE - 1) / SIM_LINE;

	while (line < end) {
		if (!(line % WORD_BITS) && !m->dirty[line / WORD_BITS]) {
			line += WORD_BITS;
			continue;
		}
		if (is_dirty(m, line))
			flush_line(m, line);
		line++;
	}
	between(medium_of(media), off);
}

static int drain(struct brick_media *media)
{
	struct sim_medium *m = medium_of(media);

	/* The fence of one thread: another's lines may wait for one of its own. */
	between(m, UINT64_MAX);
	if (sim_current)
		sim_yield();
	drained(m, sim_current);
	between(m, UINT64_MAX);
	return 0;
}

static void drop_opened(struct sim_belonging *belonging)
{
	struct opened *o =
		(struct opened *)((char *)belonging -
				  offsetof(struct opened, belonging));

	free(o->m.path);
	sim_free(o);
}

static void close_opened(struct brick_media *media)
{
	struct opened *o = (struct opened *)media;

	LIST_REMOVE(&o->belonging, link);
	drop_opened(&o->belonging);
}

static const struct brick_media_ops ops = {
	.st64 = st64,
	.copy = copy,
	.zero = zero,
	.flush = flush,
	.drain = drain,
	.close = close_opened,
};

struct brick_media *sim_medium_open(struct sim_medium *m)
{
	struct opened *o = sim_alloc(sizeof(*o));

	/* Those who had it open before have been in the kernel since. */
	drained(m, NULL);
	o->medium = m;
	o->belonging.drop = drop_opened;
	LIST_INSERT_HEAD(&sim_current->process->belongings, &o->belonging,
			 link);
	o->m.ops = &ops;
	o->m.base = m->seen;
	o->m.size = m->bytes;
	o->m.path = strdup("/medium");
	o->m.fd = -1;
	o->m.granularity = m->platform.eadr ? BRICK_GRANULARITY_BYTE
					    : BRICK_GRANULARITY_CACHE_LINE;
	o->m.medium = &brick_medium_devdax;
	o->m.fresh_is_zero = true;
	return &o->m;
}

/* ---- devices ------------------------------------------------------------- */

/* What of a line is not lost; most are whole. */
static void put_line(uint8_t *to, const struct fault_line *line)
{
	if (line->mask == UINT64_MAX) {
		memcpy(to, line->data, SIM_LINE);
		return;
	}
	for (uint32_t i = 0; i < SIM_LINE; i++)
		if (line->mask >> i & 1)
			to[i] = line->data[i];
}

static void place(struct sim_medium *m, const struct fault_line *line)
{
	uint64_t off = line->addr - (uintptr_t)m->seen;

	touch(m, off, SIM_LINE);
	put_line(m->seen + off, line);
	if (m->files) {
		sim_file_stored(m->files, &m->files->store, off, SIM_LINE);
		return;
	}
	/* What the device passes by is in the cache no more. */
	if (m->platform.ddio)
		set_dirty(m, off / SIM_LINE, true);
	else
		write_back(m, off / SIM_LINE);
}

static void place_all(struct sim_medium *m)
{
	struct fault_line line;

	while (fault_power_pop(&m->n, &line))
		place(m, &line);
}

void sim_medium_write(struct sim_medium *m, uint32_t link, uint64_t key,
		      uint8_t *at, const void *from, uint32_t len)
{
	const uint8_t *bytes = from;
	uint32_t n = 0;

	if (link >= m->n.nr_conns)
		m->n.nr_conns = link + 1;
	while (n < len) {
		n += fault_power_write(&m->n, link, key, (uintptr_t)at + n,
				       bytes + n, len - n);
		if (n < len)
			fault_power_squeeze(&m->n, link);
		place_all(m);
	}
	if (m->platform.placed)
		fault_power_empty(&m->n, link);
	fault_power_step(&m->n);
	place_all(m);
}

void sim_medium_empty(struct sim_medium *m, uint32_t link)
{
	fault_power_empty(&m->n, link);
	place_all(m);
}

void sim_medium_fence(struct sim_medium *m)
{
	for (uint32_t link = 0; link < m->n.nr_conns; link++)
		fault_power_empty(&m->n, link);
	place_all(m);
}

void sim_medium_unlink(struct sim_medium *m, uint32_t link, bool drains)
{
	fault_power_destroy(&m->n, link, drains);
	place_all(m);
}

/* ---- power --------------------------------------------------------------- */

void sim_medium_settle(struct sim_medium *m, uint64_t off, uint64_t len)
{
	for (uint64_t line = off / SIM_LINE; line < (off + len) / SIM_LINE;
	     line++)
		write_back(m, line);
}

void sim_medium_overwrite(struct sim_medium *m, uint64_t off, uint8_t byte)
{
	uint64_t line = off / SIM_LINE;

	overtake(m, line);
	touch(m, off, SIM_LINE);
	memset(m->seen + off, byte, SIM_LINE);
	memset(m->kept + off, byte, SIM_LINE);
	set_dirty(m, line, false);
}

void sim_medium_misplace(struct sim_medium *m, uint64_t off, uint64_t from)
{
	uint8_t line[SIM_LINE];

	memcpy(line, m->seen + from, SIM_LINE);
	sim_medium_overwrite(m, off, 0);
	memcpy(m->seen + off, line, SIM_LINE);
	memcpy(m->kept + off, line, SIM_LINE);
}

/* What of the cache is kept: whole lines, in no order. */
static void lose_cache(struct sim_medium *m)
{
	for (uint64_t word = 0; word < SIM_LINES / WORD_BITS; word++) {
		while (m->dirty[word]) {
			uint64_t line =
				word * WORD_BITS +
				(uint64_t)__builtin_ctzll(m->dirty[word]);
			uint64_t off = line * SIM_LINE;

			if (m->platform.eadr || sim_chance_of(&m->chance, HALF))
				write_back(m, line);
			else
				memcpy(m->seen + off, m->kept + off, SIM_LINE);
			set_dirty(m, line, false);
		}
	}
}

/* A line that left N whole, or in pieces, went past the cache. */
static void lose_buffers(struct sim_medium *m)
{
	struct fault_line line;

	fault_power_cut(&m->n);
	while (fault_power_pop(&m->n, &line)) {
		uint64_t off = line.addr - (uintptr_t)m->seen;

		touch(m, off, SIM_LINE);
		put_line(m->seen + off, &line);
		put_line(m->kept + off, &line);
	}
}

void sim_medium_lose_power(struct sim_medium *m)
{
	if (m->files) {
		/* What is in memory is gone, wherever it was on its way to. */
		struct fault_line line;

		fault_power_cut(&m->n);
		while (fault_power_pop(&m->n, &line))
			;
		return;
	}
	for (uint32_t i = 0; i < m->n_flushed; i++) {
		const struct sim_flushed *f = &m->flushed[i];

		if (sim_chance_of(&m->chance, HALF))
			memcpy(m->kept + (uint64_t)f->line * SIM_LINE, f->bytes,
			       SIM_LINE);
		set_dirty(m, f->line, true);
	}
	m->n_flushed = 0;
	memset(m->waiting, 0, sizeof(m->waiting));
	lose_cache(m);
	lose_buffers(m);
}

/* ---- a new one ----------------------------------------------------------- */

static void make_zero(struct sim_medium *m)
{
	for (uint64_t page = 0; page < SIM_MEDIUM_BYTES / PAGE; page++) {
		if (!is_touched(m, page))
			continue;
		memset(m->seen + page * PAGE, 0, PAGE);
		memset(m->kept + page * PAGE, 0, PAGE);
	}
	memset(m->touched, 0, sizeof(m->touched));
	memset(m->dirty, 0, sizeof(m->dirty));
	memset(m->waiting, 0, sizeof(m->waiting));
	m->n_flushed = 0;
}

void sim_medium_init(struct sim_medium *m, uint32_t host,
		     const struct sim_platform *platform, uint64_t seed)
{
	const struct fault_power_cfg cfg = {
		.seed = ~seed,
		.drain_permille = platform->drain_permille,
	};

	if (!m->seen) {
		m->seen = sim_map(SIM_MEDIUM_AT + 2 * host * SIM_MEDIUM_BYTES,
				  2 * SIM_MEDIUM_BYTES);
		m->kept = m->seen + SIM_MEDIUM_BYTES;
	}
	make_zero(m);
	m->files = NULL;
	m->bytes = SIM_MEDIUM_BYTES;
	m->platform = *platform;
	m->chance = seed;
	m->until_cut = 0;
	m->cuts_head = false;
	sim_cancel(&m->cut);
	if (fault_power_init(&m->n, &cfg, m->n_lines, SIM_N_LINES, m->n_links,
			     SIM_LINKS_MAX))
		sim_die("no buffers before a medium");
	/* Those that have written: each step looks at all of them. */
	m->n.nr_conns = 1;
}
