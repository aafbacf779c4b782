// SPDX-License-Identifier: BSD-2-Clause
/* The machine's user space: its start, its orders, its requests. */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/slab.h>

#include "fabric.h"
#include "kernel.h"

int sim_kfi_core_init(void);
int sim_kfbk_module_init(void);

static const struct miscdevice *sim_control;

int km_boot(void)
{
	int ret;

	km_static_memory_reset();
	km_works_start();
	ret = sim_kfi_core_init();
	ret = ret ?: km_fabric_init();
	return ret ?: sim_kfbk_module_init();
}

/* ---- orders -------------------------------------------------------------------- */

int misc_register(struct miscdevice *misc)
{
	sim_control = misc;
	return 0;
}

void misc_deregister(struct miscdevice *misc)
{
	sim_control = NULL;
}

int km_control(const char *order, char *answer, size_t room)
{
	const struct file_operations *fops = sim_control->fops;
	struct file file = { NULL };
	loff_t at = 0;
	ssize_t ret, n;

	*answer = '\0';
	ret = fops->open(NULL, &file);
	if (ret)
		return (int)ret;
	ret = fops->write(&file, order, strlen(order), &at);
	n = fops->read(&file, answer, room - 1, &at);
	answer[n > 0 ? n : 0] = '\0';
	fops->release(NULL, &file);
	return ret < 0 ? (int)ret : 0;
}

/* ---- requests ------------------------------------------------------------------- */

/* A bio and its pieces. */
struct sent {
	struct bio bio;
	struct km_io *io;
	struct bio_vec pieces[];
};

static void ended(struct bio *bio)
{
	struct sent *sent = container_of(bio, struct sent, bio);
	struct km_io *io = sent->io;
	int error = blk_status_to_errno(bio->bi_status);

	kfree(sent);
	io->done(io, error);
}

static blk_opf_t flags_of(const struct km_io *io)
{
	static const blk_opf_t ops[] = {
		[KM_READ] = REQ_OP_READ,
		[KM_WRITE] = REQ_OP_WRITE,
		[KM_FLUSH] = REQ_OP_WRITE | REQ_PREFLUSH,
		[KM_DISCARD] = REQ_OP_DISCARD,
		[KM_WRITE_ZEROES] = REQ_OP_WRITE_ZEROES,
	};

	return ops[io->op] | (io->fua ? REQ_FUA : 0) |
	       (io->preflush ? REQ_PREFLUSH : 0) |
	       (io->no_unmap ? REQ_NOUNMAP : 0);
}

/* As a page cache would have it, in pages, or as one piece, or in between. */
static u32 cut_up(struct bio_vec *pieces, u8 *at, u32 bytes)
{
	u32 n = 0;

	while (bytes) {
		u32 len = PAGE_SIZE - offset_in_page(at);

		len += PAGE_SIZE * (u32)km_below(3);
		len = min(len, bytes);
		pieces[n++] = (struct bio_vec){
			.bv_page = virt_to_page(at),
			.bv_offset = offset_in_page(at),
			.bv_len = len,
		};
		at += len;
		bytes -= len;
	}
	return n;
}

static struct bio *bio_of(struct gendisk *disk, struct km_io *io)
{
	bool has_bytes = io->op == KM_READ || io->op == KM_WRITE;
	u32 most = has_bytes ? io->bytes / PAGE_SIZE + 2 : 0;
	struct sent *sent =
		km_zalloc(sizeof(*sent) + most * sizeof(struct bio_vec));

	if (!sent)
		return NULL;
	sent->io = io;
	sent->bio.disk = disk;
	sent->bio.bi_opf = flags_of(io);
	sent->bio.bi_end_io = ended;
	sent->bio.bi_iter.bi_sector = io->sector;
	sent->bio.bi_iter.bi_size = io->bytes;
	if (has_bytes) {
		sent->bio.bi_io_vec = sent->pieces;
		cut_up(sent->pieces, io->buf, io->bytes);
	}
	return &sent->bio;
}

void km_submit(struct gendisk *disk, struct km_io *const *ios, uint32_t n)
{
	struct bio *bios[16];
	u32 i;

	for (i = 0; i < n && i < ARRAY_SIZE(bios); i++) {
		bios[i] = bio_of(disk, ios[i]);
		if (!bios[i]) {
			km_broken("no memory for a bio");
			return;
		}
	}
	submit_bios(bios, i);
}
