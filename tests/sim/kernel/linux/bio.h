/* SPDX-License-Identifier: BSD-2-Clause */
/* What a file system asks of a disk. */
#ifndef SIM_LINUX_BIO_H
#define SIM_LINUX_BIO_H

#include <linux/bvec.h>
#include <linux/types.h>

typedef unsigned int blk_opf_t;
typedef u8 blk_status_t;

#define SECTOR_SHIFT 9
#define SECTOR_SIZE  (1 << SECTOR_SHIFT)

enum req_op {
	REQ_OP_READ = 0,
	REQ_OP_WRITE = 1,
	REQ_OP_FLUSH = 2,
	REQ_OP_DISCARD = 3,
	REQ_OP_WRITE_ZEROES = 9,
};

#define REQ_OP_MASK  255U
#define REQ_PREFLUSH (1U << 8)
#define REQ_FUA	     (1U << 9)
#define REQ_NOUNMAP  (1U << 10)
#define REQ_NOMERGE  (1U << 11)
#define REQ_NOWAIT   (1U << 12)

#define BLK_STS_OK	 0
#define BLK_STS_NOTSUPP	 ((blk_status_t)1)
#define BLK_STS_NOSPC	 ((blk_status_t)3)
#define BLK_STS_MEDIUM	 ((blk_status_t)7)
#define BLK_STS_RESOURCE ((blk_status_t)9)
#define BLK_STS_IOERR	 ((blk_status_t)10)
#define BLK_STS_OFFLINE	 ((blk_status_t)16)

static inline bool op_is_write(blk_opf_t op)
{
	return op & 1;
}

int blk_status_to_errno(blk_status_t status);
blk_status_t errno_to_blk_status(int error);

struct gendisk;

struct block_device {
	struct gendisk *bd_disk;
};

/*
 * struct bio - one; a part of another one, when that was too long
 * @bi_next: of the same request
 * @bi_end_io: called when it is over, with its status
 * @bi_private: of whoever has sent it
 * @parent: that it is a part of, or NULL
 * @n_left: parts of it that are not over, itself included
 */
struct bio {
	struct bio *bi_next;
	struct gendisk *disk;
	blk_opf_t bi_opf;
	blk_status_t bi_status;
	struct bio_vec *bi_io_vec;
	struct bvec_iter bi_iter;
	void (*bi_end_io)(struct bio *bio);
	void *bi_private;
	struct bio *parent;
	u32 n_left;
};

/* Of a bio, by its pieces. */
#define bio_for_each_segment_at(bv, bio, iter)                   \
	for ((iter) = (bio)->bi_iter;                            \
	     (iter).bi_size && ((bv) = bio_piece(bio, iter), 1); \
	     bio_advance_piece(bio, &(iter), (bv).bv_len))

struct bio_vec bio_piece(const struct bio *bio, struct bvec_iter iter);
void bio_advance_piece(const struct bio *bio, struct bvec_iter *iter, u32 len);
void zero_fill_bio(struct bio *bio);
/* Its pieces, where the disk's segments are longer than they are. */
u32 bio_pieces(const struct bio *bio);

/* The first bytes of it become a part of its own; NULL: there is no memory. */
struct bio *bio_split_front(struct bio *bio, u32 len);
void bio_endio(struct bio *bio);

/* One without data that is not on any list, and the end of it. */
void bio_init(struct bio *bio, struct block_device *bdev, struct bio_vec *table,
	      unsigned short max_vecs, blk_opf_t opf);

static inline void bio_uninit(struct bio *bio)
{
}

/* Sends it, and waits. Return: 0, or its error. */
int submit_bio_wait(struct bio *bio);

struct bio_list {
	struct bio *head;
	struct bio *tail;
};

static inline void bio_list_init(struct bio_list *list)
{
	list->head = NULL;
	list->tail = NULL;
}

static inline struct bio *bio_list_pop(struct bio_list *list)
{
	struct bio *bio = list->head;

	if (!bio)
		return NULL;
	list->head = bio->bi_next;
	if (!list->head)
		list->tail = NULL;
	bio->bi_next = NULL;
	return bio;
}

/*
 * Sends some that the disk's scheduler sees at one time: those that follow each
 * other may become one request. The caller waits while all tags are taken.
 */
void submit_bios(struct bio **bios, u32 n);

#endif
