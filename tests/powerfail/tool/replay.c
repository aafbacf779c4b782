// SPDX-License-Identifier: BSD-2-Clause
/*
 * powerfail-replay: does what a log of dm-log-writes says, flush by flush.
 *
 *   powerfail-replay LOG TARGET FIRST
 *
 * Writes to TARGET, a file or a device, what the entries of the log wrote, from
 * number FIRST to the next one that is a flush or has FUA, which is where the
 * power may have failed. Prints the number of the entry after it and the last
 * mark so far, which is 0 before the first. Exit status: 0; 1 when the log has no
 * such entry any more; 2 usage; 3 the log is none, or something failed.
 *
 * The format is that of the kernel's
 * Documentation/admin-guide/device-mapper/log-writes.rst: a superblock, then
 * entries of one sector each, followed by the sectors that were written.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/falloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC	   UINT64_C(0x6a736677736872)
#define VERSION	   1
#define SECTOR_MIN 512U
#define SECTOR_MAX 65536U

enum {
	EXIT_AT_FLUSH,
	EXIT_AT_END,
	EXIT_USAGE,
	EXIT_FAILED,
};

enum flag {
	FLAG_FLUSH = 1 << 0,
	FLAG_FUA = 1 << 1,
	FLAG_DISCARD = 1 << 2,
	FLAG_MARK = 1 << 3,
};

/* On the medium, little-endian. */
struct super {
	uint64_t magic;
	uint64_t version;
	uint64_t nr_entries;
	uint32_t sector_bytes;
};

struct entry {
	uint64_t sector;
	uint64_t nr_sectors;
	uint64_t flags;
	uint64_t text_len; /* of a mark, right behind this */
};

struct replay {
	int log;
	int target;
	uint64_t log_bytes;
	uint64_t target_bytes;
	uint64_t nr_entries;
	uint32_t sector_bytes;
	uint64_t at; /* in the log */
	uint64_t mark;
	uint8_t sector[SECTOR_MAX];
};

static int get(const struct replay *r, uint64_t at, void *to, size_t len)
{
	ssize_t n;

	if (at > r->log_bytes || len > r->log_bytes - at)
		return -EINVAL;
	n = pread(r->log, to, len, (off_t)at);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

static int read_super(struct replay *r)
{
	struct super s;
	int rc = get(r, 0, &s, sizeof(s));

	if (rc)
		return rc;
	r->nr_entries = le64toh(s.nr_entries);
	r->sector_bytes = le32toh(s.sector_bytes);
	r->at = r->sector_bytes;
	if (le64toh(s.magic) != MAGIC || le64toh(s.version) != VERSION ||
	    r->sector_bytes < SECTOR_MIN || r->sector_bytes > SECTOR_MAX ||
	    r->sector_bytes & (r->sector_bytes - 1))
		return -EINVAL;
	return 0;
}

/* The next entry; its data, if it has any, is at r->at then. */
static int read_entry(struct replay *r, struct entry *e)
{
	int rc = get(r, r->at, r->sector, r->sector_bytes);

	if (rc)
		return rc;
	memcpy(e, r->sector, sizeof(*e));
	e->sector = le64toh(e->sector);
	e->nr_sectors = le64toh(e->nr_sectors);
	e->flags = le64toh(e->flags);
	e->text_len = le64toh(e->text_len);
	r->at += r->sector_bytes;
	return 0;
}

/* Marks that are no numbers are not ours: the kernel makes one at the end. */
static int take_mark(struct replay *r, const struct entry *e)
{
	char *end, *text = (char *)r->sector + sizeof(*e);
	uint64_t number;

	if (e->text_len >= r->sector_bytes - sizeof(*e))
		return -EINVAL;
	text[e->text_len] = '\0';
	number = strtoull(text, &end, 10);
	if (end != text && !*end)
		r->mark = number;
	return 0;
}

static int copy_sector(struct replay *r, uint64_t from, uint64_t to)
{
	int rc = get(r, from, r->sector, r->sector_bytes);
	ssize_t n;

	if (rc)
		return rc;
	n = pwrite(r->target, r->sector, r->sector_bytes, (off_t)to);
	if (n < 0)
		return -errno;
	return (size_t)n == r->sector_bytes ? 0 : -EIO;
}

static int copy_data(struct replay *r, uint64_t to, uint64_t len)
{
	int rc = 0;

	if (len > r->log_bytes - r->at)
		return -EINVAL;
	for (uint64_t done = 0; !rc && done < len; done += r->sector_bytes)
		rc = copy_sector(r, r->at + done, to + done);
	r->at += len;
	return rc;
}

static int discard(const struct replay *r, uint64_t to, uint64_t len)
{
	if (fallocate(r->target, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)to, (off_t)len))
		return -errno;
	return 0;
}

static int do_entry(struct replay *r, const struct entry *e)
{
	uint64_t most = r->target_bytes / r->sector_bytes;

	if (e->flags & FLAG_MARK)
		return take_mark(r, e);
	if (e->sector > most || e->nr_sectors > most - e->sector)
		return -EINVAL;
	if (!e->nr_sectors)
		return 0;
	if (e->flags & FLAG_DISCARD)
		return discard(r, e->sector * r->sector_bytes,
			       e->nr_sectors * r->sector_bytes);
	return copy_data(r, e->sector * r->sector_bytes,
			 e->nr_sectors * r->sector_bytes);
}

/* One that was replayed before: what it said, not what it wrote. */
static int skip_entry(struct replay *r, const struct entry *e)
{
	if (e->flags & FLAG_MARK)
		return take_mark(r, e);
	if (e->flags & FLAG_DISCARD)
		return 0;
	if (e->nr_sectors > (r->log_bytes - r->at) / r->sector_bytes)
		return -EINVAL;
	r->at += e->nr_sectors * r->sector_bytes;
	return 0;
}

static int replay(struct replay *r, uint64_t first)
{
	struct entry e;
	int rc = 0;

	for (uint64_t i = 0; !rc && i < r->nr_entries; i++) {
		rc = read_entry(r, &e);
		if (!rc)
			rc = i < first ? skip_entry(r, &e) : do_entry(r, &e);
		if (rc || i < first || !(e.flags & (FLAG_FLUSH | FLAG_FUA)))
			continue;
		printf("%" PRIu64 " %" PRIu64 "\n", i + 1, r->mark);
		return EXIT_AT_FLUSH;
	}
	return rc ? rc : EXIT_AT_END;
}

static int open_sized(const char *path, int flags, uint64_t *bytes)
{
	int fd = open(path, flags | O_CLOEXEC);
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	int error = errno;

	if (end < 0) {
		if (fd >= 0)
			close(fd);
		return -error;
	}
	*bytes = (uint64_t)end;
	return fd;
}

int main(int argc, char **argv)
{
	static struct replay r;
	char *end = NULL;
	uint64_t first;
	int rc;

	first = argc == 4 ? strtoull(argv[3], &end, 10) : 0;
	if (argc != 4 || end == argv[3] || *end) {
		fputs("usage: powerfail-replay LOG TARGET FIRST\n", stderr);
		return EXIT_USAGE;
	}
	r.log = open_sized(argv[1], O_RDONLY, &r.log_bytes);
	r.target = r.log < 0 ? r.log
			     : open_sized(argv[2], O_RDWR, &r.target_bytes);
	rc = r.target < 0 ? r.target : read_super(&r);
	if (!rc)
		rc = replay(&r, first);
	if (rc < 0)
		fprintf(stderr, "powerfail-replay: %s\n",
			rc == -EINVAL ? "this log is damaged" : strerror(-rc));
	return rc < 0 ? EXIT_FAILED : rc;
}
