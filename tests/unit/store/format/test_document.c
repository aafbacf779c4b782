// SPDX-License-Identifier: BSD-2-Clause
/*
 * The store that docs/media-format.md shows byte by byte: it is built from the
 * page's dump, read by brickd's own code, and compared with each row of the
 * page. DOCUMENT names the page.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/store/format/commit_word.h"
#include "brickd/store/format/evlog.h"
#include "brickd/store/store_impl.h"

#define LINE_MAX_BYTES 512U
#define DUMP_BYTES     16U
#define CELLS	       6U
#define ROWS_MAX       256U
#define SLOTS	       3U

struct row {
	uint64_t at;
	uint64_t len;
	char bytes[LINE_MAX_BYTES];
	char field[64];
	char value[64];
};

/* A field's place in its struct. */
struct place {
	const char *name;
	size_t off;
	size_t len;
};

#define PLACE(type, field)                                            \
	{                                                             \
#field, offsetof(struct brick_fmt_##type, field),     \
			sizeof(((struct brick_fmt_##type *)0)->field) \
	}

static const struct place super_places[] = {
	PLACE(super, magic),	     PLACE(super, version),
	PLACE(super, block_shift),   PLACE(super, uuid),
	PLACE(super, seq),	     PLACE(super, salt),
	PLACE(super, reserved0),     PLACE(super, feat_compat),
	PLACE(super, feat_incompat), PLACE(super, feat_ro_compat),
	PLACE(super, n_pmem),	     PLACE(super, cap_pmem),
	PLACE(super, n_slow),	     PLACE(super, cap_slow),
	PLACE(super, rec_off[0]),    PLACE(super, rec_off[1]),
	PLACE(super, slow_off[0]),   PLACE(super, slow_off[1]),
	PLACE(super, data_off),	     PLACE(super, total_size),
	PLACE(super, slow_uuid),     PLACE(super, reserved),
	PLACE(super, crc),	     { NULL, 0, 0 },
};

static const struct place commit_places[] = {
	PLACE(commit, tx),
	PLACE(commit, crc),
	{ NULL, 0, 0 },
};

static const struct place instance_places[] = {
	PLACE(instance, seq),
	PLACE(instance, boot_id),
	PLACE(instance, instance_id),
	PLACE(instance, start_time),
	PLACE(instance, pid),
	PLACE(instance, flags),
	PLACE(instance, power_epoch),
	PLACE(instance, counter),
	PLACE(instance, reserved),
	PLACE(instance, crc),
	{ NULL, 0, 0 },
};

static const struct place event_places[] = {
	PLACE(event, seq),    PLACE(event, time_ns),  PLACE(event, kind),
	PLACE(event, copy),   PLACE(event, slot),     PLACE(event, va),
	PLACE(event, detail), PLACE(event, reserved), PLACE(event, crc),
	{ NULL, 0, 0 },
};

static const struct place record_places[] = {
	PLACE(record, id),    PLACE(record, birth), PLACE(record, move),
	PLACE(record, owner), PLACE(record, crc),   PLACE(record, word),
	{ NULL, 0, 0 },
};

/* Where a struct of the page lies; each of its fields must have a row. */
static const struct {
	const char *name;
	uint64_t at;
	const struct place *places;
} structs[] = {
	{ "super[0]", 0x0, super_places },
	{ "commit[0]", 0x2000, commit_places },
	{ "instance[0]", 0x4000, instance_places },
	{ "event[0]", 0x8000, event_places },
	{ "record[0][0]", 0x10000, record_places },
	{ "record[0][1]", 0x10020, record_places },
	{ "record[0][2]", 0x10040, record_places },
};

#define N_STRUCTS (sizeof(structs) / sizeof(structs[0]))

struct page {
	struct brick_media *m;
	uint64_t dump_end;
	struct row rows[ROWS_MAX];
	unsigned int n_rows;
};

static struct page page;

/* "00000010  0b 5c ...": bytes; "*": the line before again, up to the next. */
static void take_dump_line(const char *line, bool *repeat, uint64_t *end)
{
	char *at;
	uint64_t off, i;

	if (*line == '*') {
		*repeat = true;
		return;
	}
	off = strtoull(line, &at, 16);
	assert_true(off <= page.m->size);
	for (i = *end; *repeat && i < off; i++)
		page.m->base[i] = page.m->base[i - DUMP_BYTES];
	if (!*repeat)
		assert_int_equal(off, *end);
	*repeat = false;
	*end = off;
	for (i = 0; i < DUMP_BYTES && *at && *at != '\n'; i++)
		page.m->base[(*end)++] = (uint8_t)strtoul(at, &at, 16);
}

/* The next cell without blanks and backquotes around it. */
static void take_cell(char **line, char *to, size_t to_len)
{
	char *end = strchr(*line, '|'), *from = *line;
	size_t len;

	assert_non_null(end);
	*line = end + 1;
	while (from < end && (*from == ' ' || *from == '`'))
		from++;
	while (end > from && (end[-1] == ' ' || end[-1] == '`'))
		end--;
	len = (size_t)(end - from);
	assert_true(len < to_len);
	memcpy(to, from, len);
	to[len] = '\0';
}

static void take_row(char *line)
{
	struct row *row = &page.rows[page.n_rows++];
	char number[32];

	assert_true(page.n_rows < ROWS_MAX);
	line++;
	take_cell(&line, number, sizeof(number));
	row->at = strtoull(number, NULL, 16);
	take_cell(&line, number, sizeof(number));
	row->len = strtoull(number, NULL, 10);
	take_cell(&line, row->bytes, sizeof(row->bytes));
	take_cell(&line, row->field, sizeof(row->field));
	take_cell(&line, row->value, sizeof(row->value));
}

static int read_page(void **state)
{
	bool in_section = false, in_dump = false, repeat = false;
	const char *path = getenv("DOCUMENT");
	char line[LINE_MAX_BYTES], err[256];
	FILE *file;

	(void)state;
	assert_non_null(path);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(brick_media_open("memory:8M", NULL, &page.m, err,
					  sizeof(err)),
			 0);
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "## ", 3))
			in_section = strstr(line, "byte by byte");
		if (!in_section)
			continue;
		if (!strncmp(line, "```", 3))
			in_dump = !in_dump;
		else if (in_dump)
			take_dump_line(line, &repeat, &page.dump_end);
		else if (!strncmp(line, "| 0x", 4))
			take_row(line);
	}
	return fclose(file);
}

static int free_page(void **state)
{
	(void)state;
	brick_media_close(page.m);
	return 0;
}

static void the_dump_is_whole(void **state)
{
	(void)state;
	assert_int_equal(page.dump_end, page.m->size);
	assert_true(page.n_rows > 50);
}

static void check_bytes(const struct row *row)
{
	const uint8_t *is = page.m->base + row->at;
	static const char same[] = "as at ";
	char *at = (char *)(uintptr_t)row->bytes;
	uint64_t i, value = 0;

	assert_int_not_equal(*at, '\0');
	if (!strncmp(at, same, sizeof(same) - 1)) {
		at += sizeof(same) - 1;
		assert_memory_equal(is, page.m->base + strtoull(at, NULL, 16),
				    row->len);
		return;
	}
	if (strstr(row->bytes, "bytes)")) {
		assert_true(brick_all_zero(is, row->len));
		return;
	}
	for (i = 0; i < row->len; i++)
		assert_int_equal(is[i], strtoul(at, &at, 16));
	assert_int_equal(*at, '\0');
	if (row->len <= sizeof(value)) {
		memcpy(&value, is, row->len);
		assert_int_equal(strtoull(row->value, NULL, 0), value);
	}
}

static void each_row_shows_the_bytes_at_its_place(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < page.n_rows; i++) {
		assert_true(page.rows[i].at + page.rows[i].len <= page.m->size);
		check_bytes(&page.rows[i]);
	}
}

static void each_byte_that_is_not_zero_has_one_row(void **state)
{
	uint64_t off = 0;
	unsigned int i;

	(void)state;
	for (i = 0; i < page.n_rows; i++) {
		assert_true(page.rows[i].at >= off);
		for (; off < page.rows[i].at; off++)
			assert_int_equal(page.m->base[off], 0);
		off += page.rows[i].len;
	}
	for (; off < page.m->size; off++)
		assert_int_equal(page.m->base[off], 0);
}

static const struct row *find_row(const char *of, const char *field)
{
	char name[64];
	unsigned int i;

	(void)snprintf(name, sizeof(name), "%s.%s", of, field);
	for (i = 0; i < page.n_rows; i++)
		if (!strcmp(page.rows[i].field, name))
			return &page.rows[i];
	fail_msg("%s has no row", name);
	abort(); /* not reached */
}

static void each_field_has_a_row_at_its_place(void **state)
{
	const struct place *place;
	const struct row *row;
	size_t i;

	(void)state;
	for (i = 0; i < N_STRUCTS; i++) {
		for (place = structs[i].places; place->name; place++) {
			row = find_row(structs[i].name, place->name);
			assert_int_equal(row->at, structs[i].at + place->off);
			assert_int_equal(row->len, place->len);
		}
	}
}

static void expect(const char *of, const char *field, uint64_t value)
{
	const struct row *row = find_row(of, field);
	char *end;

	if (strtoull(row->value, &end, 0) != value || *end)
		fail_msg("%s: the page says %s, brickd reads 0x%" PRIx64,
			 row->field, row->value, value);
}

/* A uuid as text, whatever its dashes. */
static void expect_uuid(const char *of, const char *field,
			const uint8_t uuid[KFB_UUID_BYTES])
{
	const char *at = find_row(of, field)->value;
	char byte[3] = "";
	unsigned int i;

	for (i = 0; i < KFB_UUID_BYTES; i++) {
		at += *at == '-';
		memcpy(byte, at, 2);
		assert_int_equal(strtoul(byte, NULL, 16), uuid[i]);
		at += 2;
	}
	assert_int_equal(*at, '\0');
}

static struct brick_super read_super(void)
{
	struct brick_super sb;
	bool damaged;
	char err[256];

	assert_int_equal(
		brick_super_read(page.m, &sb, &damaged, err, sizeof(err)), 0);
	assert_false(damaged);
	return sb;
}

static void the_superblock_reads_as_explained(void **state)
{
	struct brick_super sb = read_super();

	(void)state;
	expect("super[0]", "magic", BRICK_FMT_MAGIC);
	expect("super[0]", "version", BRICK_FMT_VERSION);
	expect("super[0]", "block_shift", KFB_BLOCK_SHIFT);
	expect_uuid("super[0]", "uuid", sb.uuid);
	expect("super[0]", "seq", sb.seq);
	expect("super[0]", "salt", sb.salt);
	expect("super[0]", "reserved0", 0);
	expect("super[0]", "feat_compat", 0);
	expect("super[0]", "feat_incompat",
	       sb.n_slow ? BRICK_FMT_INCOMPAT_SLOW : 0);
	expect("super[0]", "feat_ro_compat", 0);
	expect("super[0]", "n_pmem", sb.n);
	expect("super[0]", "cap_pmem", sb.capacity);
	expect("super[0]", "n_slow", sb.n_slow);
	expect("super[0]", "cap_slow", sb.cap_slow);
	expect("super[0]", "rec_off[0]", sb.rec_off[0]);
	expect("super[0]", "rec_off[1]", sb.rec_off[1]);
	expect("super[0]", "slow_off[0]", sb.slow_off[0]);
	expect("super[0]", "slow_off[1]", sb.slow_off[1]);
	expect("super[0]", "data_off", sb.data_off);
	expect("super[0]", "total_size", sb.total_size);
	expect_uuid("super[0]", "slow_uuid", sb.slow_uuid);
	expect("super[0]", "reserved", 0);
}

static void the_pages_read_as_explained(void **state)
{
	struct brick_super sb = read_super();
	struct brick_instance inst;
	struct brick_event event;
	bool damaged, invalid;
	unsigned int copy;
	uint32_t tx;

	(void)state;
	assert_int_equal(
		brick_commit_read(page.m, &sb, &tx, &damaged, &invalid), 0);
	assert_false(damaged || invalid);
	expect("commit[0]", "tx", tx);
	assert_int_equal(
		brick_instance_read(page.m, &sb, &inst, &copy, &damaged), 0);
	assert_false(damaged);
	expect("instance[0]", "seq", inst.seq);
	expect_uuid("instance[0]", "boot_id", inst.boot_id);
	expect("instance[0]", "instance_id", inst.instance_id);
	expect("instance[0]", "start_time", inst.start_time);
	expect("instance[0]", "pid", inst.pid);
	expect("instance[0]", "flags",
	       (inst.clean ? BRICK_FMT_INST_CLEAN : 0) |
		       (inst.dirty_shutdowns_known ? BRICK_FMT_INST_DSC : 0));
	expect("instance[0]", "power_epoch", inst.power_epoch);
	expect("instance[0]", "counter", inst.dirty_shutdowns);
	assert_int_equal(brick_evlog_last(page.m, &sb), 1);
	assert_true(brick_evlog_get(page.m, &sb, 1, &event));
	expect("event[0]", "seq", event.seq);
	expect("event[0]", "time_ns", event.time_ns);
	expect("event[0]", "kind", event.kind);
	expect("event[0]", "copy", event.copy);
	expect("event[0]", "slot", event.slot);
	expect("event[0]", "va", event.va);
	expect("event[0]", "detail", event.detail);
}

static void the_records_read_as_explained(void **state)
{
	static const enum brick_state states[SLOTS] = {
		BRICK_ALLOC,
		BRICK_CLEAN,
		BRICK_CLEAN,
	};
	struct brick_super sb = read_super();
	struct brick_payload p;
	struct brick_word w;
	uint64_t slot, raw;
	char of[32];

	(void)state;
	for (slot = 0; slot < SLOTS; slot++) {
		(void)snprintf(of, sizeof(of), "record[0][%u]",
			       (unsigned int)slot);
		assert_true(brick_record_get_payload(page.m, &sb, 0, slot, &p));
		expect(of, "id", p.id);
		expect(of, "birth", p.birth);
		expect(of, "move", p.move);
		expect(of, "owner", p.owner);
		assert_true(brick_record_get_word(page.m, &sb, 0, slot, &w));
		assert_int_equal(w.state, states[slot]);
		memcpy(&raw,
		       page.m->base + brick_super_rec(&sb, 0, slot) +
			       offsetof(struct brick_fmt_record, word),
		       sizeof(raw));
		expect(of, "word", raw);
	}
}

static void the_store_opens_and_holds_its_block(void **state)
{
	struct brick_store_open o = { .instance_id = 1 };
	struct brick_store_stats stats;
	struct brick_store *s;
	struct brick_run run;
	char err[256];

	(void)state;
	assert_int_equal(brick_store_open(page.m, &o, &s, err, sizeof(err)), 0);
	assert_int_equal(brick_store_recovery(s)->records_repaired, 0);
	assert_int_equal(brick_store_recovery(s)->records_resolved, 0);
	brick_store_stats(s, &stats);
	assert_int_equal(stats.slots_alloc, 1);
	assert_int_equal(stats.slots_clean, 2);
	assert_int_equal(brick_store_lookup(s, 0x40000000, 1, &run), 0);
	assert_memory_equal(page.m->base + run.offset, "hello\n", 6);
	brick_store_close(s, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_dump_is_whole),
		cmocka_unit_test(each_row_shows_the_bytes_at_its_place),
		cmocka_unit_test(each_byte_that_is_not_zero_has_one_row),
		cmocka_unit_test(each_field_has_a_row_at_its_place),
		cmocka_unit_test(the_superblock_reads_as_explained),
		cmocka_unit_test(the_pages_read_as_explained),
		cmocka_unit_test(the_records_read_as_explained),
		/* Last: it writes to the store. */
		cmocka_unit_test(the_store_opens_and_holds_its_block),
	};

	return cmocka_run_group_tests(tests, read_page, free_page);
}
