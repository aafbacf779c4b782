// SPDX-License-Identifier: BSD-2-Clause
/*
 * The system calls by which brickd uses files: what is not below /disk/ or
 * /run/brickd goes to the system.
 */
#include <errno.h>
#include <fcntl.h>
#include <libpmem2.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "brickd/media/media_fsid.h"
#include "brickd/media/media_impl.h"
#include "fabric.h"
#include "files.h"
#include "host.h"

#define FIRST_NUMBER (1 << 25)
#define NUMBERS	     256
#define DISK	     "/disk/"
#define RUN	     "/run/brickd"
#define SELF_FD	     "/proc/self/fd/"
#define FILE_MODE    0600
#define STAT_BLOCK   512

/* An open description: it goes with its process. */
struct description {
	struct sim_belonging belonging;
	int number;
	struct sim_files *files;
	struct sim_file *file;
	struct sim_node *node;
	uint32_t since;
	uint32_t super_since;
	uint32_t n_maps;
	bool is_direct;
};

static struct description *numbers[NUMBERS];

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __real_stat64(const char *path, struct stat64 *st);
int __wrap_stat64(const char *path, struct stat64 *st);
int __real_lstat64(const char *path, struct stat64 *st);
int __wrap_lstat64(const char *path, struct stat64 *st);
int __real_fstat64(int fd, struct stat64 *st);
int __wrap_fstat64(int fd, struct stat64 *st);
int __real_fstatfs64(int fd, struct statfs64 *fs);
int __wrap_fstatfs64(int fd, struct statfs64 *fs);
int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
char *__real_realpath(const char *path, char *out);
char *__wrap_realpath(const char *path, char *out);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_dprintf(int fd, const char *fmt, ...);
ssize_t __real_pread64(int fd, void *to, size_t len, off64_t off);
ssize_t __wrap_pread64(int fd, void *to, size_t len, off64_t off);
ssize_t __real_pwrite64(int fd, const void *from, size_t len, off64_t off);
ssize_t __wrap_pwrite64(int fd, const void *from, size_t len, off64_t off);
int __real_fallocate64(int fd, int mode, off64_t off, off64_t len);
int __wrap_fallocate64(int fd, int mode, off64_t off, off64_t len);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __real_syncfs(int fd);
int __wrap_syncfs(int fd);
int __real_posix_fadvise64(int fd, off64_t off, off64_t len, int advice);
int __wrap_posix_fadvise64(int fd, off64_t off, off64_t len, int advice);
void *__real_mmap64(void *at, size_t len, int prot, int flags, int fd,
		    off64_t off);
void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd,
		    off64_t off);
int __real_munmap(void *at, size_t len);
int __wrap_munmap(void *at, size_t len);
int __real_mincore(void *at, size_t len, unsigned char *vec);
int __wrap_mincore(void *at, size_t len, unsigned char *vec);
uint64_t __real_brick_media_fsid(int fd);
uint64_t __wrap_brick_media_fsid(int fd);
int __wrap_brick_media_map(const struct brick_media_file *f,
			   struct brick_media_map **out);
int __wrap_pmem2_map_delete(struct pmem2_map **map);

/* ---- whose ------------------------------------------------------------------- */

/* Of a program that the world plays itself, and what it has open. */
static struct sim_files *played;
static struct sim_belonging_list of_played = LIST_HEAD_INITIALIZER(of_played);

void sim_files_play(struct sim_files *files)
{
	played = files;
}

struct sim_files *sim_files_here(void)
{
	return sim_current ? sim_host_of(sim_current->process)->files : played;
}

static struct description *find(int fd)
{
	int at = fd - FIRST_NUMBER;

	return at >= 0 && at < NUMBERS ? numbers[at] : NULL;
}

static bool begins_with(const char *path, const char *prefix)
{
	return !strncmp(path, prefix, strlen(prefix));
}

/* NULL: it is none of the machine's. */
static struct sim_files *owner_of(const char *path)
{
	return begins_with(path, DISK) || begins_with(path, RUN)
		       ? sim_files_here()
		       : NULL;
}

static struct sim_file *file_of(struct sim_files *files, const char *path)
{
	if (!strcmp(path, SIM_STORE_PATH))
		return &files->store;
	return !strcmp(path, SIM_SLOW_PATH) ? &files->slow : NULL;
}

/* One that is on the disk by another name is none. */
static struct sim_node *free_node(struct sim_files *files)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		if (!*files->nodes[i].path && !*files->nodes[i].durable)
			return &files->nodes[i];
	return NULL;
}

static struct sim_node *node_of(struct sim_files *files, const char *path)
{
	for (uint32_t i = 0; i < SIM_NODES_MAX; i++)
		if (!strcmp(files->nodes[i].path, path))
			return &files->nodes[i];
	return NULL;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

/* Something that the disk was to do next fails, once. */
static bool fails_as(struct description *d, struct sim_disk_error *next)
{
	int error = next->error;

	if (!error)
		return false;
	if (next->more)
		next->more--;
	else
		next->error = 0;
	d->files->n_failed++;
	sim_trace("disk", "%s: an access fails: %s", d->file->pc.name,
		  strerror(error));
	errno = error;
	return true;
}

static bool call_fails(struct description *d)
{
	return fails_as(d, &d->file->call);
}

/* ---- opening and closing ------------------------------------------------------- */

static void drop(struct sim_belonging *belonging)
{
	struct description *d =
		sim_container_of(belonging, struct description, belonging);

	if (d->file)
		d->file->pc.n_maps -= d->n_maps;
	numbers[d->number - FIRST_NUMBER] = NULL;
	sim_free(d);
}

static struct sim_node *make_node(struct sim_files *files, const char *path)
{
	struct sim_node *node = free_node(files);

	if (!node)
		sim_die("too many small files");
	(void)snprintf(node->path, sizeof(node->path), "%s", path);
	node->len = 0;
	return node;
}

static int open_one(struct sim_files *files, struct sim_file *file,
		    struct sim_node *node, int flags)
{
	struct description *d = sim_alloc(sizeof(*d));
	int at = 0;

	while (at < NUMBERS && numbers[at])
		at++;
	if (at == NUMBERS)
		sim_die("too many open files");
	numbers[at] = d;
	d->number = FIRST_NUMBER + at;
	d->files = files;
	d->file = file;
	d->node = node;
	d->is_direct = flags & O_DIRECT;
	if (file) {
		d->since = pc_sample(&file->pc.state->error);
		d->super_since = pc_sample(&files->super);
	}
	d->belonging.drop = drop;
	LIST_INSERT_HEAD(sim_current ? &sim_current->process->belongings
				     : &of_played,
			 &d->belonging, link);
	return d->number;
}

static int open_path(struct sim_files *files, const char *path, int flags)
{
	struct sim_file *file = file_of(files, path);
	struct sim_node *node = node_of(files, path);

	if (file)
		return file->bytes ? open_one(files, file, NULL, flags)
				   : fail(ENOENT);
	if (flags & O_DIRECTORY)
		return open_one(files, NULL, NULL, flags);
	if (files->run_is_closed && begins_with(path, RUN))
		return fail(EACCES);
	if (!node && !(flags & O_CREAT))
		return fail(ENOENT);
	if (!node)
		node = make_node(files, path);
	if (flags & O_TRUNC)
		node->len = node->is_synced = 0;
	return open_one(files, NULL, node, flags);
}

int __wrap_open64(const char *path, int flags, ...)
{
	const struct description *same;
	struct sim_files *files;
	mode_t mode = 0;

	files = owner_of(path);
	if (files)
		return open_path(files, path, flags);
	if (sim_current && begins_with(path, SELF_FD)) {
		/* NOLINTNEXTLINE(cert-err34-c): brickd has printed it */
		same = find(atoi(path + strlen(SELF_FD)));
		if (same)
			return open_one(same->files, same->file, NULL, flags);
	}
	if (flags & (O_CREAT | __O_TMPFILE)) {
		va_list args;

		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return __real_open64(path, flags, mode);
}

bool sim_file_close(int fd)
{
	struct description *d = find(fd);

	if (!d)
		return false;
	LIST_REMOVE(&d->belonging, link);
	drop(&d->belonging);
	return true;
}

/* ---- small files ---------------------------------------------------------------- */

bool sim_file_append(int fd, const void *from, size_t len)
{
	struct description *d = find(fd);

	if (!d || !d->node)
		return false;
	if (len > sizeof(d->node->bytes) - d->node->len)
		sim_die("%s is too long", d->node->path);
	memcpy(d->node->bytes + d->node->len, from, len);
	d->node->len += (uint32_t)len;
	d->node->is_synced = false;
	return true;
}

FILE *sim_file_read(const char *path, bool *ours)
{
	struct sim_files *files = owner_of(path);
	struct sim_node *node = files ? node_of(files, path) : NULL;

	*ours = files;
	if (!node) {
		errno = ENOENT;
		return NULL;
	}
	return fmemopen(node->bytes, node->len, "r");
}

/* That a mark is there is what counts, not its words. */
int __wrap_dprintf(int fd, const char *fmt, ...)
{
	va_list args;
	int n;

	if (find(fd))
		return 0;
	va_start(args, fmt);
	n = vdprintf(fd, fmt, args);
	va_end(args);
	return n;
}

int __wrap_mkdir(const char *path, mode_t mode)
{
	return owner_of(path) ? fail(EEXIST) : __real_mkdir(path, mode);
}

int __wrap_unlink(const char *path)
{
	struct sim_files *files = owner_of(path);
	struct sim_node *node;

	if (!files)
		return __real_unlink(path);
	node = node_of(files, path);
	if (!node)
		return fail(ENOENT);
	node->path[0] = '\0';
	return 0;
}

int __wrap_rename(const char *from, const char *to)
{
	struct sim_files *files = owner_of(from);
	struct sim_node *node, *before;

	if (!files)
		return __real_rename(from, to);
	sim_may_yield();
	node = node_of(files, from);
	before = node_of(files, to);
	if (!node)
		return fail(ENOENT);
	if (before)
		before->path[0] = '\0';
	(void)snprintf(node->path, sizeof(node->path), "%s", to);
	sim_may_yield();
	return 0;
}

/* Of a small file, or of the folder that they are in. */
int __wrap_fsync(int fd)
{
	struct description *d = find(fd);

	if (!d)
		return __real_fsync(fd);
	sim_yield();
	if (d->node)
		d->node->is_synced = true;
	else
		sim_files_sync_names(d->files);
	sim_may_yield();
	return 0;
}

char *__wrap_realpath(const char *path, char *out)
{
	if (!owner_of(path))
		return __real_realpath(path, out);
	out = out ? out : malloc(strlen(path) + 1);
	return out ? memcpy(out, path, strlen(path) + 1) : NULL;
}

/* ---- looking at them --------------------------------------------------------------- */

static int look(const struct sim_file *file, const struct sim_node *node,
		struct stat64 *st)
{
	memset(st, 0, sizeof(*st));
	st->st_mode = S_IFREG | FILE_MODE;
	st->st_size = (off64_t)(file ? file->bytes : node->len);
	st->st_blocks = st->st_size / STAT_BLOCK;
	return 0;
}

static int look_at(struct sim_files *files, const char *path, struct stat64 *st)
{
	const struct sim_file *file = file_of(files, path);
	const struct sim_node *node = node_of(files, path);

	return file || node ? look(file, node, st) : fail(ENOENT);
}

int __wrap_stat64(const char *path, struct stat64 *st)
{
	struct sim_files *files = owner_of(path);

	return files ? look_at(files, path, st) : __real_stat64(path, st);
}

int __wrap_lstat64(const char *path, struct stat64 *st)
{
	struct sim_files *files = owner_of(path);

	return files ? look_at(files, path, st) : __real_lstat64(path, st);
}

int __wrap_fstat64(int fd, struct stat64 *st)
{
	const struct description *d = find(fd);

	return d ? look(d->file, d->node, st) : __real_fstat64(fd, st);
}

int __wrap_fstatfs64(int fd, struct statfs64 *fs)
{
	if (!find(fd))
		return __real_fstatfs64(fd, fs);
	memset(fs, 0, sizeof(*fs));
	fs->f_type = EXT4_SUPER_MAGIC;
	return 0;
}

uint64_t __wrap_brick_media_fsid(int fd)
{
	const struct description *d = find(fd);

	return d ? d->files->mount_id : __real_brick_media_fsid(fd);
}

/* One brickd runs on a machine at a time. */
int __wrap_flock(int fd, int operation)
{
	return find(fd) ? 0 : __real_flock(fd, operation);
}

/* ---- reading, writing, syncing -------------------------------------------------------- */

static bool is_within(const struct sim_file *file, uint64_t off, uint64_t len)
{
	return off <= file->bytes && len <= file->bytes - off;
}

ssize_t __wrap_pread64(int fd, void *to, size_t len, off64_t off)
{
	struct description *d = find(fd);
	uint32_t ignored;

	if (!d)
		return __real_pread64(fd, to, len, off);
	sim_may_yield();
	if (call_fails(d))
		return -1;
	if (!is_within(d->file, (uint64_t)off, len))
		return 0;
	if (d->is_direct) {
		/* Past the cache: what is dirty is written back first. */
		ignored = d->since;
		if (sim_file_sync(d->files, d->file, &ignored))
			return fail(EIO);
		return pc_read_disk(&d->file->pc, to, len, (uint64_t)off);
	}
	pc_present(&d->file->pc, (uint64_t)off, len);
	memcpy(to, d->file->pc.page + off, len);
	sim_may_yield();
	return (ssize_t)len;
}

/* Zeros where nothing else was ever written change nothing. */
static bool is_change(const struct sim_file *file, uint64_t off,
		      const uint8_t *from, size_t len)
{
	uint64_t p = off / PC_PAGE;

	if (file->touched[p / 64] >> (p % 64) & 1)
		return true;
	return from && (*from || memcmp(from, from + 1, len - 1) != 0);
}

/* @from: NULL: zeros */
static void write_pages(struct description *d, uint64_t off,
			const uint8_t *from, size_t len)
{
	while (len) {
		size_t n = PC_PAGE - off % PC_PAGE;

		n = n < len ? n : len;
		if (is_change(d->file, off, from, n)) {
			if (from)
				memcpy(d->file->pc.page + off, from, n);
			else
				memset(d->file->pc.page + off, 0, n);
			sim_file_stored(d->files, d->file, off, n);
		}
		from = from ? from + n : NULL;
		off += n;
		len -= n;
	}
}

ssize_t __wrap_pwrite64(int fd, const void *from, size_t len, off64_t off)
{
	struct description *d = find(fd);

	if (!d)
		return __real_pwrite64(fd, from, len, off);
	sim_may_yield();
	if (call_fails(d))
		return -1;
	if (!is_within(d->file, (uint64_t)off, len))
		return fail(ENOSPC);
	write_pages(d, (uint64_t)off, from, len);
	sim_may_yield();
	return (ssize_t)len;
}

int __wrap_fallocate64(int fd, int mode, off64_t off, off64_t len)
{
	struct description *d = find(fd);

	if (!d)
		return __real_fallocate64(fd, mode, off, len);
	sim_may_yield();
	if (call_fails(d) || fails_as(d, &d->file->zero))
		return -1;
	if (!(mode & FALLOC_FL_ZERO_RANGE) ||
	    !is_within(d->file, (uint64_t)off, (uint64_t)len))
		return fail(EOPNOTSUPP);
	write_pages(d, (uint64_t)off, NULL, (size_t)len);
	d->files->zeroed = sim.n_events;
	return 0;
}

int __wrap_fdatasync(int fd)
{
	struct description *d = find(fd);
	int rc;

	if (!d)
		return __real_fdatasync(fd);
	sim_yield();
	rc = sim_file_sync(d->files, d->file, &d->since);
	sim_may_yield();
	return rc ? fail(-rc) : 0;
}

int __wrap_syncfs(int fd)
{
	struct description *d = find(fd);
	int rc;

	if (!d)
		return __real_syncfs(fd);
	sim_yield();
	rc = sim_files_sync(d->files, &d->super_since);
	sim_may_yield();
	return rc ? fail(-rc) : 0;
}

int __wrap_posix_fadvise64(int fd, off64_t off, off64_t len, int advice)
{
	struct description *d = find(fd);
	struct sim_thread *thread = sim_current;

	if (!d)
		return __real_posix_fadvise64(fd, off, len, advice);
	if (advice != POSIX_FADV_DONTNEED)
		return 0;
	sim_current = NULL;
	pc_drop(&d->file->pc, (uint64_t)off,
		len ? (uint64_t)len : UINT64_MAX / 2);
	sim_current = thread;
	return 0;
}

/* ---- mappings ------------------------------------------------------------------------- */

static struct description *mapped(const void *at, uint64_t *off)
{
	for (uint32_t i = 0; i < NUMBERS; i++) {
		struct description *d = numbers[i];

		if (!d || !d->file || !d->n_maps)
			continue;
		*off = (uint64_t)((const uint8_t *)at - d->file->pc.page);
		if (*off < SIM_FILE_BYTES)
			return d;
	}
	return NULL;
}

static void *map(struct description *d, uint64_t off)
{
	d->n_maps++;
	d->file->pc.n_maps++;
	return d->file->pc.page + off;
}

static void unmap(struct description *d)
{
	d->n_maps--;
	d->file->pc.n_maps--;
}

void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd,
		    off64_t off)
{
	struct description *d = find(fd);

	if (d)
		return map(d, (uint64_t)off);
	return __real_mmap64(at, len, prot, flags, fd, off);
}

int __wrap_munmap(void *at, size_t len)
{
	uint64_t off;
	struct description *d = sim_current ? mapped(at, &off) : NULL;

	if (!d)
		return __real_munmap(at, len);
	unmap(d);
	return 0;
}

int __wrap_mincore(void *at, size_t len, unsigned char *vec)
{
	uint64_t off;
	struct description *d = sim_current ? mapped(at, &off) : NULL;

	if (!d)
		return __real_mincore(at, len, vec);
	pc_mincore(&d->file->pc, off, len, vec);
	return 0;
}

/* What libpmem2 makes of a file. */
int __wrap_brick_media_map(const struct brick_media_file *f,
			   struct brick_media_map **out)
{
	struct description *d = find(f->fd);
	struct brick_media_map *mm = calloc(1, sizeof(*mm));
	char *path = strdup(f->path);

	if (!mm || !path) {
		free(mm);
		free(path);
		return -ENOMEM;
	}
	mm->m.base = map(d, 0);
	mm->map = (struct pmem2_map *)d;
	mm->m.size = d->file->bytes;
	mm->m.granularity = BRICK_GRANULARITY_PAGE;
	mm->m.path = path;
	mm->m.fd = f->fd;
	mm->m.made = f->made;
	mm->m.fresh_is_zero = f->made != BRICK_MADE_NOTHING;
	*out = mm;
	return 0;
}

int __wrap_pmem2_map_delete(struct pmem2_map **map)
{
	unmap((struct description *)*map);
	*map = NULL;
	return 0;
}
