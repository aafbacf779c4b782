// SPDX-License-Identifier: BSD-2-Clause
/*
 * A store on this machine: what it lies on, and whether it is one. It is
 * opened for reading only and not locked, so a running brickd is not disturbed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "initiator/brickctl/doctor/doctor.h"

/* The first bytes of a store, docs/media-format.md. */
#define MAGIC	    "kfbstore"
#define MAGIC_BYTES 8

#define ALIGN_BYTES (2ULL << 20)
#define TEXT_BYTES  64
#define WAY_BYTES   (DOCTOR_PATH_BYTES + 64)

static void check_magic(struct doctor *d, const char *bytes)
{
	char way[WAY_BYTES];

	if (!memcmp(bytes, MAGIC, MAGIC_BYTES)) {
		doctor_found(d, DOCTOR_OK, NULL, "%s is a store", d->store);
		return;
	}
	snprintf(way, sizeof(way), "brickctl format %s", d->store);
	doctor_found(d, DOCTOR_PROBLEM, way, "%s is not a store yet", d->store);
}

/* Devices of persistent memory cannot be read(2), only mapped. */
static void look_at_mapped(struct doctor *d, int fd)
{
	void *map = mmap(NULL, ALIGN_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED) {
		doctor_found(
			d, DOCTOR_PROBLEM,
			"ndctl list -N shows its alignment; it must be 2M or less for this",
			"%s cannot be mapped: %s", d->store, strerror(errno));
		return;
	}
	check_magic(d, map);
	munmap(map, ALIGN_BYTES);
}

static void look_at_alignment(struct doctor *d, const char *folder)
{
	char text[TEXT_BYTES];
	uint64_t align;

	if (!ctl_read_line(text, sizeof(text), "%s/align", folder))
		return;
	align = strtoull(text, NULL, 10);
	if (align == ALIGN_BYTES)
		doctor_found(d, DOCTOR_OK, NULL, "%s is aligned to 2 MiB",
			     d->store);
	else
		doctor_found(
			d, DOCTOR_PROBLEM,
			"ndctl create-namespace -f -e NAMESPACE -m devdax -a 2M (destroys what it holds; ndctl list -N has the name)",
			"%s is aligned to %s bytes, blocks need 2 MiB",
			d->store, text);
}

static void look_at_device(struct doctor *d, const struct stat *st, int fd)
{
	char path[DOCTOR_PATH_BYTES];
	char domain[TEXT_BYTES];
	char *folder, *slash;

	snprintf(path, sizeof(path), "%s/dev/char/%u:%u", d->sysfs,
		 major(st->st_rdev), minor(st->st_rdev));
	folder = realpath(path, NULL);
	if (!folder || !strstr(folder, "/dax")) {
		doctor_found(d, DOCTOR_PROBLEM,
			     "name a file or a devdax device",
			     "%s is neither a file nor a devdax device",
			     d->store);
		free(folder);
		return;
	}
	look_at_alignment(d, folder);
	/* The folder has it, or the nearest one above. */
	while (!ctl_read_line(domain, sizeof(domain), "%s/persistence_domain",
			      folder) &&
	       (slash = strrchr(folder, '/')) && slash != folder)
		*slash = '\0';
	free(folder);
	doctor_platform(d, d->store, domain);
	look_at_mapped(d, fd);
}

static void refuse_block_device(struct doctor *d, const struct stat *st)
{
	const char *name = strrchr(d->store, '/');
	char way[WAY_BYTES];
	char path[DOCTOR_PATH_BYTES];
	char *device;

	name = name ? name + 1 : d->store;
	if (strncmp(name, "pmem", 4) != 0) {
		doctor_found(
			d, DOCTOR_PROBLEM,
			"make a file on a file system on it: brickctl format FILE --size SIZE",
			"%s is a block device: nothing written there through a mapping is durable in time",
			d->store);
		return;
	}
	snprintf(path, sizeof(path), "%s/dev/block/%u:%u/device", d->sysfs,
		 major(st->st_rdev), minor(st->st_rdev));
	device = realpath(path, NULL);
	snprintf(
		way, sizeof(way),
		"ndctl create-namespace -f -e %s -m devdax -a 2M (destroys what it holds)",
		device ? strrchr(device, '/') + 1 : "NAMESPACE");
	free(device);
	doctor_found(
		d, DOCTOR_PROBLEM, way,
		"%s is persistent memory as a block device, which goes through the page cache",
		d->store);
}

static void look_at_file(struct doctor *d, const struct stat *st, int fd)
{
	char magic[MAGIC_BYTES] = "";
	char way[WAY_BYTES];
	struct statfs fs;
	struct statx more;

	if (!fstatfs(fd, &fs) &&
	    (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC))
		doctor_found(
			d, DOCTOR_PROBLEM,
			"move it to a disk or to devdax, unless it is for trials",
			"%s is in memory: nothing there survives a restart of the machine",
			d->store);
	else if (!statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &more) &&
		 more.stx_attributes & STATX_ATTR_DAX)
		doctor_found(d, DOCTOR_OK, NULL,
			     "%s maps persistent memory directly", d->store);
	else
		doctor_found(
			d, DOCTOR_NOTE,
			"devdax on persistent memory is the fast way",
			"%s is a file behind the page cache: durable, but each flush is an fdatasync of the disk; verbs may not register it",
			d->store);
	if (st->st_mode & (S_IRWXG | S_IRWXO)) {
		snprintf(way, sizeof(way), "chmod 0600 %s", d->store);
		doctor_found(
			d, DOCTOR_PROBLEM, way,
			"others than its owner have access to %s (mode %04o)",
			d->store, st->st_mode & 07777U);
	}
	if (pread(fd, magic, sizeof(magic), 0) < 0)
		doctor_found(d, DOCTOR_PROBLEM, "see the kernel's log",
			     "%s cannot be read: %s", d->store,
			     strerror(errno));
	else
		check_magic(d, magic);
}

static void fail_open(struct doctor *d, int error)
{
	char way[WAY_BYTES];

	if (error == ENOENT)
		snprintf(way, sizeof(way), "brickctl format %s --size SIZE",
			 d->store);
	else
		snprintf(way, sizeof(way),
			 "run it as the user of brickd or as root");
	doctor_found(d, DOCTOR_PROBLEM, way, "%s: %s", d->store,
		     strerror(error));
}

void doctor_check_store(struct doctor *d)
{
	struct stat st;
	int fd;

	if (!d->store)
		return;
	/* A named pipe would otherwise wait for its other end. */
	fd = open(d->store, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		fail_open(d, errno);
		return;
	}
	if (fstat(fd, &st))
		fail_open(d, errno);
	else if (S_ISREG(st.st_mode))
		look_at_file(d, &st, fd);
	else if (S_ISCHR(st.st_mode))
		look_at_device(d, &st, fd);
	else if (S_ISBLK(st.st_mode))
		refuse_block_device(d, &st);
	else
		doctor_found(d, DOCTOR_PROBLEM,
			     "name a file or a devdax device",
			     "%s is neither a file nor a devdax device",
			     d->store);
	close(fd);
}
