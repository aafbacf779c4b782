/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What user space, and a file system, do with the kernel of a machine: they write
 * orders to kfbrick's control device, open its disks, and send them requests.
 * Context: threads of that machine.
 */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KM_SECTOR_BYTES 512

struct gendisk;

/* The kernel starts, and its modules with it: 0, or why they do not. */
int km_boot(void);

/* An order to the control device, and its answer: 0 or a negative errno. */
int km_control(const char *order, char *answer, size_t room);

/* A disk that is open, or NULL. */
struct gendisk *km_disk_open(int instance);
void km_disk_close(struct gendisk *disk);
uint64_t km_disk_sectors(const struct gendisk *disk);
/* How often user space was told that it has another size. */
uint32_t km_disk_resizes(const struct gendisk *disk);
/* It takes no writes. */
bool km_disk_is_read_only(const struct gendisk *disk);
/* Its writes last when they are over. */
bool km_disk_is_write_through(const struct gendisk *disk);
/* What a file of its in sysfs says, without the line's end. */
void km_disk_attribute(struct gendisk *disk, const char *name, char *text,
		       size_t room);

enum km_op {
	KM_READ,
	KM_WRITE,
	KM_FLUSH,
	KM_DISCARD,
	KM_WRITE_ZEROES,
};

/*
 * struct km_io - something that a file system asks of a disk
 * @fua: a write, and it is to last when it is over
 * @preflush: what was written before is to last first
 * @no_unmap: WRITE_ZEROES: its blocks stay allocated
 * @sector: where, of KM_SECTOR_BYTES
 * @bytes: how much
 * @buf: of the machine's memory
 * @done: called when it is over; must not sleep
 */
struct km_io {
	enum km_op op;
	bool fua;
	bool preflush;
	bool no_unmap;
	uint64_t sector;
	uint32_t bytes;
	void *buf;
	void (*done)(struct km_io *io, int error);
};

/* Sends some at one time; waits when the disk has too much to do. */
void km_submit(struct gendisk *disk, struct km_io *const *ios, uint32_t n);

/* The key of a client: the world's. */
void km_client_key(uint32_t number, uint8_t key[32]);

#endif
