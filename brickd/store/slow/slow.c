// SPDX-License-Identifier: BSD-2-Clause
/* The slow tier's header: whose it is. Two copies; format and grow write it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/media/media.h"
#include "brickd/media/media_say.h"
#include "brickd/store/format/crc32c.h"
#include "brickd/store/format/super.h"
#include "brickd/store/slow/slow.h"
#include "kfb_endian.h"

#define SUM_BYTES    offsetof(struct brick_fmt_slow, crc)
#define HEADER_BYTES (BRICK_FMT_COPIES * BRICK_FMT_PAGE)
/* Looked at before format takes something for empty. */
#define START_BYTES 65536U

uint64_t brick_slow_room(const struct brick_slow *slow)
{
	if (slow->size < BRICK_FMT_SLOW_DATA)
		return 0;
	return (slow->size - BRICK_FMT_SLOW_DATA) >> KFB_BLOCK_SHIFT;
}

uint64_t brick_slow_data(uint64_t slot)
{
	return BRICK_FMT_SLOW_DATA +
	       (brick_slot_number(slot) << KFB_BLOCK_SHIFT);
}

/* Memory that any device takes. */
static void *page_alloc(size_t bytes)
{
	void *buf = aligned_alloc(BRICK_FMT_PAGE, bytes);

	if (buf)
		memset(buf, 0, bytes);
	return buf;
}

int brick_slow_is_empty(struct brick_slow *slow, bool *empty)
{
	size_t len = slow->size < START_BYTES
			     ? slow->size / BRICK_FMT_PAGE * BRICK_FMT_PAGE
			     : START_BYTES;
	void *buf;
	int ret;

	*empty = true;
	if (!len)
		return 0;
	buf = page_alloc(len);
	if (!buf)
		return -ENOMEM;
	ret = slow->ops->read(slow, 0, buf, len);
	if (!ret)
		*empty = brick_all_zero(buf, len);
	free(buf);
	return ret;
}

static int write_copy(struct brick_slow *slow, const struct brick_super *sb,
		      unsigned int copy)
{
	struct brick_fmt_slow *raw = page_alloc(BRICK_FMT_PAGE);
	int ret;

	if (!raw)
		return -ENOMEM;
	memset(raw, 0, sizeof(*raw));
	kfb_put_le64(&raw->magic, BRICK_FMT_SLOW_MAGIC);
	kfb_put_le32(&raw->version, BRICK_FMT_VERSION);
	kfb_put_le32(&raw->block_shift, KFB_BLOCK_SHIFT);
	memcpy(raw->uuid, sb->slow_uuid, sizeof(raw->uuid));
	memcpy(raw->store_uuid, sb->uuid, sizeof(raw->store_uuid));
	kfb_put_le64(&raw->n_slots, sb->n_slow);
	kfb_put_le64(&raw->data_off, BRICK_FMT_SLOW_DATA);
	kfb_put_le32(&raw->crc, brick_crc32c(0, raw, SUM_BYTES));
	ret = slow->ops->write(slow, (uint64_t)copy * BRICK_FMT_PAGE, raw,
			       BRICK_FMT_PAGE);
	if (!ret)
		ret = slow->ops->sync(slow);
	free(raw);
	return ret;
}

int brick_slow_write_header(struct brick_slow *slow,
			    const struct brick_super *sb)
{
	unsigned int copy;
	int ret = 0;

	for (copy = 0; !ret && copy < BRICK_FMT_COPIES; copy++)
		ret = write_copy(slow, sb, copy);
	return ret;
}

static enum brick_slow_sense validate_fields(const struct brick_slow *slow,
					     const struct brick_fmt_slow *raw,
					     const struct brick_super *sb)
{
	if (kfb_get_le32(&raw->version) != BRICK_FMT_VERSION ||
	    kfb_get_le32(&raw->block_shift) != KFB_BLOCK_SHIFT ||
	    kfb_get_le64(&raw->data_off) != BRICK_FMT_SLOW_DATA ||
	    !brick_all_zero(raw->reserved, sizeof(raw->reserved)))
		return BRICK_SLOW_UNKNOWN;
	if (memcmp(raw->uuid, sb->slow_uuid, sizeof(raw->uuid)) ||
	    memcmp(raw->store_uuid, sb->uuid, sizeof(raw->store_uuid)) ||
	    kfb_get_le64(&raw->n_slots) < sb->n_slow)
		return BRICK_SLOW_FOREIGN;
	if (brick_slow_room(slow) < sb->n_slow)
		return BRICK_SLOW_SHORT;
	return BRICK_SLOW_WHOLE;
}

/* bad: the copy that is damaged, where one is. */
static enum brick_slow_sense validate_record(const struct brick_slow *slow,
					     const struct brick_fmt_slow *raw,
					     const struct brick_super *sb,
					     unsigned int *bad)
{
	bool intact[BRICK_FMT_COPIES], has_magic, any_magic = false;
	enum brick_slow_sense sense;
	unsigned int copy;

	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		has_magic =
			kfb_get_le64(&raw[copy].magic) == BRICK_FMT_SLOW_MAGIC;
		intact[copy] = has_magic &&
			       kfb_get_le32(&raw[copy].crc) ==
				       brick_crc32c(0, &raw[copy], SUM_BYTES);
		any_magic |= has_magic;
	}
	if (!intact[0] && !intact[1])
		return any_magic ? BRICK_SLOW_LOST : BRICK_SLOW_NONE;
	*bad = intact[0];
	sense = validate_fields(slow, &raw[!*bad], sb);
	if (sense == BRICK_SLOW_WHOLE && !(intact[0] && intact[1]))
		sense = BRICK_SLOW_HALF;
	return sense;
}

static int read_records(struct brick_slow *slow, const struct brick_super *sb,
			enum brick_slow_sense *sense, unsigned int *bad)
{
	struct brick_fmt_slow *raw;
	int ret;

	*sense = BRICK_SLOW_SHORT;
	if (slow->size < HEADER_BYTES)
		return 0;
	raw = page_alloc(HEADER_BYTES);
	if (!raw)
		return -ENOMEM;
	ret = slow->ops->read(slow, 0, raw, HEADER_BYTES);
	if (!ret)
		*sense = validate_record(slow, raw, sb, bad);
	free(raw);
	return ret ? -EIO : 0;
}

int brick_slow_look(struct brick_slow *slow, const struct brick_super *sb,
		    enum brick_slow_sense *sense)
{
	unsigned int bad;

	return read_records(slow, sb, sense, &bad);
}

/* Why it is refused. */
static int refuse_slow(const struct brick_slow *slow,
		       const struct brick_super *sb,
		       enum brick_slow_sense sense, char *err, size_t err_len)
{
	switch (sense) {
	case BRICK_SLOW_NONE:
		brick_media_say(err, err_len,
				"%s: not a slow tier; the store was formatted "
				"with another path",
				slow->path);
		return -ENOENT;
	case BRICK_SLOW_LOST:
		brick_media_say(err, err_len,
				"%s: both headers of the slow tier are damaged",
				slow->path);
		return -EUCLEAN;
	case BRICK_SLOW_UNKNOWN:
		brick_media_say(err, err_len,
				"%s: a slow tier of a format that this brickd "
				"does not know: use a newer one",
				slow->path);
		return -EPROTONOSUPPORT;
	case BRICK_SLOW_FOREIGN:
		brick_media_say(err, err_len,
				"%s: the slow tier of another store, or of an "
				"earlier format of this one",
				slow->path);
		return -EINVAL;
	default:
		brick_media_say(err, err_len,
				"%s: truncated: the slow tier has %llu slots, "
				"there is room for %llu; restore its size",
				slow->path, (unsigned long long)sb->n_slow,
				(unsigned long long)brick_slow_room(slow));
		return -EINVAL;
	}
}

bool brick_slow_keeps_less(const struct brick_slow *slow,
			   const struct brick_media *m)
{
	return slow->is_volatile && !m->is_volatile;
}

int brick_slow_keeps(const struct brick_slow *slow, const struct brick_media *m,
		     char *err, size_t err_len)
{
	if (!brick_slow_keeps_less(slow, m))
		return 0;
	brick_media_say(err, err_len,
			"%s: is in memory, and the store %s is not: a loss of "
			"power would take the blocks that are moved there, "
			"and what was flushed of them; name a file or a block "
			"device on a disk; a slow tier that holds blocks "
			"already is copied there, with brickd stopped",
			slow->path, m->path);
	return -ENOTSUP;
}

int brick_slow_check(struct brick_slow *slow, const struct brick_super *sb,
		     bool *damaged, char *err, size_t err_len)
{
	enum brick_slow_sense sense;
	int ret;

	ret = brick_slow_look(slow, sb, &sense);
	if (ret) {
		brick_media_say(err, err_len,
				"%s: the slow tier cannot be read", slow->path);
		return ret;
	}
	*damaged = sense == BRICK_SLOW_HALF;
	if (sense == BRICK_SLOW_WHOLE || sense == BRICK_SLOW_HALF)
		return 0;
	return refuse_slow(slow, sb, sense, err, err_len);
}

int brick_slow_repair(struct brick_slow *slow, const struct brick_super *sb)
{
	enum brick_slow_sense sense;
	unsigned int bad;
	int ret;

	ret = read_records(slow, sb, &sense, &bad);
	if (!ret && sense == BRICK_SLOW_HALF)
		ret = write_copy(slow, sb, bad);
	return ret;
}
