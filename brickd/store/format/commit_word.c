// SPDX-License-Identifier: BSD-2-Clause
/* The commit word: its number says which batch is the last committed one. */
#include <errno.h>
#include <string.h>

#include "brickd/store/format/commit_word.h"
#include "brickd/store/format/crc32c.h"
#include "kfb_endian.h"

struct commit_sum {
	__le32 salt;
	__le32 tx;
};

static uint64_t word_off(unsigned int copy)
{
	return BRICK_FMT_COMMIT + copy * BRICK_FMT_PAGE;
}

static uint32_t word_sum(const struct brick_super *sb, uint32_t tx)
{
	struct commit_sum sum;

	kfb_put_le32(&sum.salt, sb->salt);
	kfb_put_le32(&sum.tx, tx);
	return brick_crc32c(0, &sum, sizeof(sum));
}

int brick_commit_read(const struct brick_media *m, const struct brick_super *sb,
		      uint32_t *tx, bool *damaged, bool *invalid)
{
	uint32_t value[BRICK_FMT_COPIES];
	bool valid[BRICK_FMT_COPIES];
	struct brick_fmt_commit raw;
	unsigned int i;

	for (i = 0; i < BRICK_FMT_COPIES; i++) {
		memcpy(&raw, m->base + word_off(i), sizeof(raw));
		value[i] = kfb_get_le32(&raw.tx);
		valid[i] = value[i] <= BRICK_FMT_TX_MASK &&
			   kfb_get_le32(&raw.crc) == word_sum(sb, value[i]);
	}
	if (!valid[0] && !valid[1])
		return -EUCLEAN;
	*tx = valid[0] ? value[0] : value[1];
	*invalid = !valid[0] || !valid[1];
	*damaged = *invalid || value[0] != value[1];
	return 0;
}

void brick_commit_write(struct brick_media *m, const struct brick_super *sb,
			uint32_t tx)
{
	struct brick_fmt_commit raw;
	unsigned int i;
	uint64_t word;

	kfb_put_le32(&raw.tx, tx);
	kfb_put_le32(&raw.crc, word_sum(sb, tx));
	memcpy(&word, &raw, sizeof(word));
	for (i = 0; i < BRICK_FMT_COPIES; i++) {
		m->ops->st64(m, word_off(i), word);
		m->ops->flush(m, word_off(i), sizeof(word));
	}
}
