/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes of a store on its medium; docs/media-format.md says them in prose.
 *
 * Everything is little endian. Reserved fields are zero and refused otherwise.
 * Only the decoders in super.c, instance.c, evlog.c and record.c look into
 * these structs.
 */
#ifndef BRICKD_STORE_FORMAT_H
#define BRICKD_STORE_FORMAT_H

#include <stddef.h>

#include <linux/types.h>

#include "kfb_wire.h"

#define BRICK_FMT_MAGIC	  0x65726f747362666bULL /* "kfbstore" */
#define BRICK_FMT_VERSION 1

#define BRICK_FMT_PAGE	     4096U
#define BRICK_FMT_COPIES     2U
#define BRICK_FMT_SUPER	     0x0000U /* two pages */
#define BRICK_FMT_COMMIT     0x2000U /* one word at the start of two pages */
#define BRICK_FMT_INSTANCE   0x4000U /* two pages */
#define BRICK_FMT_EVENTS     0x8000U
#define BRICK_FMT_EVENTS_LEN 0x8000U
#define BRICK_FMT_TABLES     0x10000U /* the first table; all before is fixed */

/* Bits of feat_incompat. */
#define BRICK_FMT_INCOMPAT_SLOW 0x1ULL /* blocks may be in a slow tier */
#define BRICK_FMT_INCOMPAT_TAIL 0x2ULL /* record tables behind the data */
#define BRICK_FMT_INCOMPAT	(BRICK_FMT_INCOMPAT_SLOW | BRICK_FMT_INCOMPAT_TAIL)

struct brick_fmt_super {
	__le64 magic; /* written last */
	__le32 version;
	__le32 block_shift;
	__u8 uuid[KFB_UUID_BYTES];
	__le64 seq; /* the higher valid one of two wins */
	__le32 salt; /* of all checksums but this one */
	__le32 reserved0;
	__le64 feat_compat; /* unknown bits: ignore */
	__le64 feat_incompat; /* unknown bits: do not open */
	__le64 feat_ro_compat; /* unknown bits: do not write */
	__le64 n_pmem;
	__le64 cap_pmem;
	__le64 n_slow; /* 0: there is no slow tier */
	__le64 cap_slow;
	__le64 rec_off[BRICK_FMT_COPIES];
	__le64 slow_off[BRICK_FMT_COPIES];
	__le64 data_off;
	__le64 total_size;
	__u8 slow_uuid[KFB_UUID_BYTES];
	__u8 reserved[3924];
	__le32 crc; /* crc32c of all before; stays here in every version */
};

#define BRICK_FMT_SLOW_MAGIC 0x776f6c736b62666bULL /* "kfbkslow" */

/* The header of a slow tier: two pages at its start, then nothing to DATA. */
#define BRICK_FMT_SLOW_DATA KFB_BLOCK_BYTES

struct brick_fmt_slow {
	__le64 magic;
	__le32 version; /* BRICK_FMT_VERSION */
	__le32 block_shift;
	__u8 uuid[KFB_UUID_BYTES]; /* slow_uuid of its store's superblock */
	__u8 store_uuid[KFB_UUID_BYTES];
	__le64 n_slots;
	__le64 data_off; /* of slot 0 */
	__u8 reserved[4028];
	__le32 crc; /* crc32c of all before */
};

/* A commit word: tx in the low half, crc32c(salt, tx) in the high one. */
struct brick_fmt_commit {
	__le32 tx;
	__le32 crc;
};

#define BRICK_FMT_INST_CLEAN (1U << 0) /* the last stop flushed everything */
#define BRICK_FMT_INST_DSC   (1U << 1) /* counter: the dirty shutdowns */
#define BRICK_FMT_INST_FLAGS 0x3U

struct brick_fmt_instance {
	__le64 seq; /* the higher valid one of two wins */
	__u8 boot_id[KFB_UUID_BYTES];
	__le64 instance_id;
	__le64 start_time; /* field 22 of /proc/PID/stat, clock ticks */
	__le32 pid; /* 0: nobody holds the store */
	__le32 flags; /* BRICK_FMT_INST_* */
	__le64 power_epoch;
	__le64 counter; /* dirty shutdowns, or which mount it is on */
	__u8 reserved[4028];
	__le32 crc; /* crc32c(salt, all before) */
};

struct brick_fmt_event {
	__le64 seq; /* 1 and up; slot (seq - 1) mod the number of entries */
	__le64 time_ns; /* since 1970 */
	__le32 kind; /* BRICK_EVENT_* */
	__le32 copy; /* which copy was damaged, or 0 */
	__le64 slot;
	__le64 va;
	__le64 detail;
	__u8 reserved[12];
	__le32 crc; /* crc32c(salt, all before) */
};

#define BRICK_FMT_EVENTS_MAX \
	(BRICK_FMT_EVENTS_LEN / sizeof(struct brick_fmt_event))

/*
 * One slot. The last eight bytes are written as one word:
 *   bits 0..3 state, bits 4..31 tx, bits 32..63 crc32c(salt, slot, state, tx)
 */
struct brick_fmt_record {
	__le64 id; /* the block's address */
	__le32 birth;
	__le32 move; /* counts moves between tiers */
	__le32 owner;
	__le32 crc; /* crc32c(salt, slot, id, birth, move, owner) */
	__le64 word;
};

#define BRICK_FMT_STATE_BITS 4
#define BRICK_FMT_STATE_MASK 0xfU
#define BRICK_FMT_TX_MASK    0x0fffffffU

/* What the two checksums of a record are computed over. */
struct brick_fmt_payload_sum {
	__le64 slot;
	__le64 id;
	__le32 birth;
	__le32 move;
	__le32 owner;
	__le32 salt;
};

struct brick_fmt_word_sum {
	__le64 slot;
	__le32 state_tx;
	__le32 salt;
};

/* clang-format off */
#define BRICK_FMT_SIZE(type, bytes, last, last_off) \
	_Static_assert(sizeof(struct type) == (bytes) && \
		       offsetof(struct type, last) == (last_off), \
		       #type " changed its layout")
/* clang-format on */

/* The last field at its place and no bytes behind it: no padding. */
BRICK_FMT_SIZE(brick_fmt_super, 4096, crc, 4092);
BRICK_FMT_SIZE(brick_fmt_slow, 4096, crc, 4092);
BRICK_FMT_SIZE(brick_fmt_commit, 8, crc, 4);
BRICK_FMT_SIZE(brick_fmt_instance, 4096, crc, 4092);
BRICK_FMT_SIZE(brick_fmt_event, 64, crc, 60);
BRICK_FMT_SIZE(brick_fmt_record, 32, word, 24);
BRICK_FMT_SIZE(brick_fmt_payload_sum, 32, salt, 28);
BRICK_FMT_SIZE(brick_fmt_word_sum, 16, salt, 12);

_Static_assert(BRICK_FMT_EVENTS + BRICK_FMT_EVENTS_LEN == BRICK_FMT_TABLES,
	       "the log ends where the tables begin");

#endif
