// SPDX-License-Identifier: BSD-2-Clause
/*
 * Loaded before a program's libraries (LD_PRELOAD): some of its files lie on a
 * disk that fails as Linux lets it fail, by tests/lib/page_cache.h.
 *
 * FAILING_DISK		the folder of the model and its rules
 * FAILING_DISK_SEED	the dice
 * FAILING_DISK_US	a sync takes up to so many microseconds
 * FAILING_DISK_MS	each file is written back so often without a sync, a
 *			random part of it
 *
 * A file with a disk in the folder is one by its name, wherever it lies; in
 * memory it passes for a file on ext4. FOLDER/boot_id stands for the kernel's.
 * With FOLDER/NAME.through there is no model, but the rules of reading, writing
 * and syncing hold for the file or device.
 *
 * FOLDER/faults has lines NAME OFFSET BYTES: pages of a mapping that cannot be had
 * any more, for want of room or because they cannot be read: SIGBUS, or EFAULT
 * when the kernel is to copy from there or to there.
 *
 * Context: any thread. Locking: `lock` guards the tables of files and mappings.
 * A descriptor's row is its user's.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/page_cache.h"
#include "tests/lib/page_cache_rules.h"

#define FILES_MAX  4
#define FDS_MAX	   1024
#define MAPS_MAX   16
#define FAULT_LINE 256
#define TICK_MS	   2
#define MS_NS	   1000000L
#define SELF_FD	   "/proc/self/fd/"
#define BOOT_ID	   "/proc/sys/kernel/random/boot_id"

/* An open description; descriptors of these files are not duplicated. */
struct description {
	struct page_cache *pc;
	uint32_t since;
	uint32_t super_since;
	bool is_direct;
};

struct mapping {
	void *addr;
	size_t len;
	uint64_t off;
	struct page_cache *pc;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static unsigned int seed, sync_us, write_back_ms;
static struct page_cache files[FILES_MAX];
static unsigned int n_files;
static struct description fds[FDS_MAX];
static struct mapping maps[MAPS_MAX];
static int64_t faults_at; /* when the file that was read was made */

static struct {
	int (*open)(const char *path, int flags, ...);
	int (*close)(int fd);
	ssize_t (*pread)(int fd, void *to, size_t len, off_t off);
	ssize_t (*pwrite)(int fd, const void *from, size_t len, off_t off);
	int (*fallocate)(int fd, int mode, off_t off, off_t len);
	int (*fdatasync)(int fd);
	int (*fsync)(int fd);
	int (*syncfs)(int fd);
	int (*fadvise)(int fd, off_t off, off_t len, int advice);
	void *(*mmap)(void *at, size_t len, int prot, int flags, int fd,
		      off_t off);
	int (*munmap)(void *at, size_t len);
	int (*mincore)(void *at, size_t len, unsigned char *vec);
	int (*msync)(void *at, size_t len, int flags);
	int (*fstatfs)(int fd, struct statfs *fs);
} real;

/* ISO C knows no conversion from an object's address to a function's. */
#define FIND(function, name)                                   \
	do {                                                   \
		void *found = dlsym(RTLD_NEXT, name);          \
		memcpy(&real.function, &found, sizeof(found)); \
	} while (0)

static unsigned int env_number(const char *name)
{
	const char *text = getenv(name);

	return text ? (unsigned int)strtoul(text, NULL, 10) : 0;
}

/* Also before constructors have run: others' call these functions, too. */
static void init_once(void)
{
	FIND(open, "open64");
	FIND(close, "close");
	FIND(pread, "pread64");
	FIND(pwrite, "pwrite64");
	FIND(fallocate, "fallocate64");
	FIND(fdatasync, "fdatasync");
	FIND(fsync, "fsync");
	FIND(syncfs, "syncfs");
	FIND(fadvise, "posix_fadvise64");
	FIND(mmap, "mmap64");
	FIND(munmap, "munmap");
	FIND(mincore, "mincore");
	FIND(msync, "msync");
	FIND(fstatfs, "fstatfs64");
	folder = getenv("FAILING_DISK");
	seed = env_number("FAILING_DISK_SEED");
	sync_us = env_number("FAILING_DISK_US");
	write_back_ms = env_number("FAILING_DISK_MS");
}

static void init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, init_once);
}

static struct description *description_of(int fd)
{
	init();
	return fd >= 0 && fd < FDS_MAX && fds[fd].pc ? &fds[fd] : NULL;
}

static struct pc_disk disk_now(struct page_cache *pc, uint64_t off,
			       uint64_t len)
{
	struct pc_disk disk = { 0 };
	struct pc_rule rule;

	if (pc_rule_waits(folder, PC_AT_WRITEBACK, pc->name) &&
	    pc_is_dirty(pc, off, len) &&
	    pc_rule_apply(folder, PC_AT_WRITEBACK, pc->name, off, len, &rule)) {
		disk.error = rule.error;
		disk.keep = rule.keep;
	}
	return disk;
}

static uint64_t write_back(struct page_cache *pc, uint64_t off, uint64_t len,
			   unsigned int share, const struct pc_disk *disk)
{
	uint64_t lost = pc_write_back(pc, off, len, share, disk);

	if (lost)
		pc_rule_log(folder, "lost=%llu file=%s error=%d",
			    (unsigned long long)lost, pc->name, disk->error);
	return lost;
}

/* When it was last changed, in ns; 0: it is not there. */
static int64_t file_time(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0
			       : (int64_t)st.st_mtim.tv_sec * 1000000000 +
					 st.st_mtim.tv_nsec;
}

static void write_some_back(unsigned int *dice)
{
	struct pc_disk disk;
	unsigned int i;

	for (i = 0; i < n_files; i++) {
		if (!files[i].state)
			continue;
		disk = disk_now(&files[i], 0, UINT64_MAX);
		(void)write_back(&files[i], 0, UINT64_MAX,
				 (unsigned int)rand_r(dice) % PC_PER_MILLE,
				 &disk);
	}
}

/* What lies behind the end of an empty file cannot be had. */
static void take_away(struct mapping *m, uint64_t off, uint64_t len)
{
	static int empty = -1;

	if (empty < 0)
		empty = memfd_create("empty", MFD_CLOEXEC);
	if (off < m->off || off - m->off + len > m->len)
		return;
	(void)real.mmap((char *)m->addr + (off - m->off), len,
			PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, empty,
			0);
	pc_rule_log(folder, "faults=%s from=%llu", m->pc->name,
		    (unsigned long long)off);
}

/* Under `lock`: the faults of this mapping, or of all that are there. */
static void read_faults(struct mapping *only)
{
	char path[PATH_MAX], line[FAULT_LINE], name[PC_NAME_MAX];
	unsigned long long off, len;
	unsigned int i;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/faults", folder);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		/* NOLINTNEXTLINE(cert-err34-c): a test wrote it */
		if (sscanf(line, "%63s %llu %llu", name, &off, &len) != 3)
			continue;
		for (i = 0; i < MAPS_MAX; i++)
			if (maps[i].addr && (!only || only == &maps[i]) &&
			    !strcmp(maps[i].pc->name, name))
				take_away(&maps[i], off, len);
	}
	if (!file)
		return;
	(void)fclose(file);
	faults_at = file_time(path);
}

/* A test has said that pages cannot be had from now on. */
static void look_for_faults(void)
{
	char path[PATH_MAX];
	int64_t at;

	(void)snprintf(path, sizeof(path), "%s/faults", folder);
	at = file_time(path);
	pthread_mutex_lock(&lock);
	if (at && at != faults_at)
		read_faults(NULL);
	pthread_mutex_unlock(&lock);
}

/*
 * What the kernel does asked by nobody: now and then it writes something back,
 * and pages go.
 */
static void *kernel_thread(void *unused)
{
	unsigned int dice = seed, waited_ms = 0;

	(void)unused;
	(void)pthread_setname_np(pthread_self(), "kernel");
	for (;;) {
		(void)nanosleep(
			&(struct timespec){ .tv_nsec = TICK_MS * MS_NS }, NULL);
		look_for_faults();
		waited_ms += TICK_MS;
		if (!write_back_ms || waited_ms < write_back_ms)
			continue;
		waited_ms = 0;
		write_some_back(&dice);
	}
	return NULL;
}

static void start_kernel_thread(void)
{
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!pthread_create(&thread, NULL, kernel_thread, NULL))
		(void)pthread_detach(thread);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A further file of the table, under `lock`. */
static struct page_cache *add_file(const char *path, const char *name)
{
	struct page_cache *pc = &files[n_files];
	int fd;

	if (n_files == FILES_MAX)
		abort();
	pc->seed = seed + n_files;
	if (pc_exists(folder, name, "state")) {
		fd = real.open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0 || pc_open(pc, folder, name, fd))
			abort();
	}
	(void)snprintf(pc->name, sizeof(pc->name), "%.63s", name);
	if (!n_files++)
		start_kernel_thread();
	return pc;
}

/* The file of this path, if the test has named it. */
static struct page_cache *file_of(const char *path)
{
	const char *name = name_of(path);
	struct page_cache *pc;
	unsigned int i;

	if (!folder || (!pc_exists(folder, name, "state") &&
			!pc_exists(folder, name, "through")))
		return NULL;
	pthread_mutex_lock(&lock);
	for (i = 0; i < n_files && strcmp(files[i].name, name); i++)
		;
	pc = i < n_files ? &files[i] : add_file(path, name);
	pthread_mutex_unlock(&lock);
	return pc;
}

/* The file of a descriptor that is opened once more. */
static struct page_cache *reopened(const char *path)
{
	struct description *d;

	if (strncmp(path, SELF_FD, strlen(SELF_FD)) != 0)
		return NULL;
	d = description_of(
		atoi(path + strlen(SELF_FD))); /* NOLINT(cert-err34-c) */
	return d ? d->pc : NULL;
}

static int fd_open(const char *path, int flags, ...)
{
	char other[PATH_MAX];
	struct page_cache *pc;
	mode_t mode = 0;
	int fd;

	init();
	if (flags & (O_CREAT | __O_TMPFILE)) {
		va_list args;

		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	if (folder && !strcmp(path, BOOT_ID)) {
		(void)snprintf(other, sizeof(other), "%s/boot_id", folder);
		if (!access(other, F_OK))
			path = other;
	}
	pc = reopened(path);
	if (!pc)
		pc = file_of(path);
	fd = real.open(path, pc && pc->state ? flags & ~O_DIRECT : flags, mode);
	if (!pc || fd < 0 || fd >= FDS_MAX)
		return fd;
	fds[fd] = (struct description){ .pc = pc };
	if (pc->state) {
		fds[fd].since = pc_sample(&pc->state->error);
		fds[fd].super_since = pc_sample(pc->super);
		fds[fd].is_direct = flags & O_DIRECT;
	}
	return fd;
}

static int fd_open_2(const char *path, int flags)
{
	return fd_open(path, flags);
}

static int fd_close(int fd)
{
	struct description *d = description_of(fd);

	if (d)
		*d = (struct description){ 0 };
	return real.close(fd);
}

/* Past the cache: what is dirty is written back first. */
static ssize_t read_directly(struct page_cache *pc, void *to, size_t len,
			     uint64_t off)
{
	struct pc_disk disk = disk_now(pc, off, len);

	if (write_back(pc, off, len, PC_PER_MILLE, &disk)) {
		errno = disk.error;
		return -1;
	}
	return pc_read_disk(pc, to, len, off);
}

static ssize_t fd_pread(int fd, void *to, size_t len, off_t off)
{
	struct description *d = description_of(fd);
	struct pc_rule rule;

	if (!d)
		return real.pread(fd, to, len, off);
	if (pc_rule_apply(folder, PC_AT_READ, d->pc->name, (uint64_t)off, len,
			  &rule) &&
	    rule.error) {
		errno = rule.error;
		return -1;
	}
	if (!d->pc->state)
		return real.pread(fd, to, len, off);
	if (d->is_direct)
		return read_directly(d->pc, to, len, (uint64_t)off);
	pc_present(d->pc, (uint64_t)off, len);
	return real.pread(fd, to, len, off);
}

/* Noted before it is written and after: it may be written back in between. */
static ssize_t fd_pwrite(int fd, const void *from, size_t len, off_t off)
{
	struct description *d = description_of(fd);
	struct pc_rule rule;
	ssize_t n;

	if (!d)
		return real.pwrite(fd, from, len, off);
	if (pc_rule_apply(folder, PC_AT_WRITE, d->pc->name, (uint64_t)off, len,
			  &rule) &&
	    rule.error) {
		errno = rule.error;
		return -1;
	}
	if (!d->pc->state)
		return real.pwrite(fd, from, len, off);
	pc_dirty(d->pc, (uint64_t)off, len);
	n = real.pwrite(fd, from, len, off);
	if (n > 0)
		pc_dirty(d->pc, (uint64_t)off, (uint64_t)n);
	return n;
}

/* Zeros are pages like any other. */
static int fd_fallocate(int fd, int mode, off_t off, off_t len)
{
	struct description *d = description_of(fd);
	struct pc_rule rule;
	int ret;

	if (!d)
		return real.fallocate(fd, mode, off, len);
	if (pc_rule_apply(folder, PC_AT_ZERO, d->pc->name, (uint64_t)off,
			  (uint64_t)len, &rule) &&
	    rule.error) {
		errno = rule.error;
		return -1;
	}
	ret = real.fallocate(fd, mode, off, len);
	if (!ret && d->pc->state)
		pc_dirty(d->pc, (uint64_t)off, (uint64_t)len);
	return ret;
}

static void take_time(void)
{
	static __thread unsigned int dice;

	if (!sync_us)
		return;
	if (!dice)
		dice = seed + (unsigned int)gettid();
	(void)nanosleep(
		&(struct timespec){
			.tv_nsec =
				(long)((unsigned int)rand_r(&dice) % sync_us) *
				1000L },
		NULL);
}

/* 0 or -errno */
static int sync_file(struct description *d)
{
	struct page_cache *pc = d->pc;
	struct pc_rule rule;
	struct pc_disk disk;

	if (pc_rule_apply(folder, PC_AT_SYNC, pc->name, 0, UINT64_MAX, &rule) &&
	    rule.error)
		return -rule.error;
	if (pc_rule_apply(folder, PC_AT_FLUSH, pc->name, 0, UINT64_MAX, &rule))
		return pc->state ? pc_flush_fails(pc, rule.error, rule.keep)
				 : -rule.error;
	if (!pc->state)
		return 0;
	disk = disk_now(pc, 0, UINT64_MAX);
	disk.delay_us = sync_us / 2;
	(void)write_back(pc, 0, UINT64_MAX, PC_PER_MILLE, &disk);
	take_time();
	(void)pc_rule_apply(folder, PC_AT_CHECK, pc->name, 0, UINT64_MAX,
			    &rule);
	return pc_error(&pc->state->error, &d->since);
}

static int sync_fd(struct description *d, int fd)
{
	int ret = sync_file(d);

	if (!ret)
		return d->pc->state ? 0 : real.fdatasync(fd);
	pc_rule_log(folder, "failed=sync file=%s error=%d", d->pc->name, -ret);
	errno = -ret;
	return -1;
}

static int fd_fdatasync(int fd)
{
	struct description *d = description_of(fd);

	return d ? sync_fd(d, fd) : real.fdatasync(fd);
}

static int fd_fsync(int fd)
{
	struct description *d = description_of(fd);

	return d ? sync_fd(d, fd) : real.fsync(fd);
}

/* All files are on one file system. */
static int fd_syncfs(int fd)
{
	struct description *d = description_of(fd);
	struct pc_disk disk;
	unsigned int i;
	int ret;

	if (!d || !d->pc->state)
		return real.syncfs(fd);
	for (i = 0; i < n_files; i++) {
		if (!files[i].state)
			continue;
		disk = disk_now(&files[i], 0, UINT64_MAX);
		(void)write_back(&files[i], 0, UINT64_MAX, PC_PER_MILLE, &disk);
	}
	ret = pc_error(d->pc->super, &d->super_since);
	if (!ret)
		return 0;
	pc_rule_log(folder, "failed=syncfs file=%s error=%d", d->pc->name,
		    -ret);
	errno = -ret;
	return -1;
}

static int fd_fadvise(int fd, off_t off, off_t len, int advice)
{
	struct description *d = description_of(fd);

	if (!d || !d->pc->state)
		return real.fadvise(fd, off, len, advice);
	if (advice == POSIX_FADV_DONTNEED)
		pc_drop(d->pc, (uint64_t)off,
			len ? (uint64_t)len : UINT64_MAX / 2);
	return 0;
}

static void *fd_mmap(void *at, size_t len, int prot, int flags, int fd,
		     off_t off)
{
	struct description *d =
		flags & MAP_ANONYMOUS ? NULL : description_of(fd);
	unsigned int i;
	void *addr;

	init();
	addr = real.mmap(at, len, prot, flags, fd, off);
	if (!d || !d->pc->state || addr == MAP_FAILED)
		return addr;
	pthread_mutex_lock(&lock);
	for (i = 0; i < MAPS_MAX - 1 && maps[i].addr; i++)
		;
	maps[i] = (struct mapping){ addr, len, (uint64_t)off, d->pc };
	d->pc->n_maps++;
	if (prot & PROT_WRITE) {
		d->pc->state->was_mapped = 1;
		pc_present(d->pc, (uint64_t)off, len);
		read_faults(&maps[i]);
	}
	pthread_mutex_unlock(&lock);
	return addr;
}

static struct mapping *mapping_of(const void *at)
{
	unsigned int i;

	for (i = 0; i < MAPS_MAX; i++) {
		const char *addr = maps[i].addr;

		if (addr && (const char *)at >= addr &&
		    (const char *)at < addr + maps[i].len)
			return &maps[i];
	}
	return NULL;
}

/* Whole mappings only: nobody here takes parts of one away. */
static int fd_munmap(void *at, size_t len)
{
	struct mapping *m;

	init();
	pthread_mutex_lock(&lock);
	m = mapping_of(at);
	if (m && m->addr == at) {
		m->pc->n_maps--;
		*m = (struct mapping){ 0 };
	}
	pthread_mutex_unlock(&lock);
	return real.munmap(at, len);
}

static int fd_mincore(void *at, size_t len, unsigned char *vec)
{
	struct mapping *m;
	uint64_t off = 0;

	init();
	pthread_mutex_lock(&lock);
	m = mapping_of(at);
	if (m) {
		off = m->off + (uint64_t)((char *)at - (char *)m->addr);
		pc_mincore(m->pc, off, len, vec);
	}
	pthread_mutex_unlock(&lock);
	return m ? 0 : real.mincore(at, len, vec);
}

/* It syncs the file by the description that was mapped: brickd has one. */
static int fd_msync(void *at, size_t len, int flags)
{
	struct mapping *m;
	int fd;

	init();
	pthread_mutex_lock(&lock);
	m = mapping_of(at);
	pthread_mutex_unlock(&lock);
	if (!m || !(flags & MS_SYNC))
		return m ? 0 : real.msync(at, len, flags);
	for (fd = 0; fd < FDS_MAX; fd++)
		if (fds[fd].pc == m->pc)
			return sync_fd(&fds[fd], fd);
	return 0;
}

static int fd_fstatfs(int fd, struct statfs *fs)
{
	struct description *d = description_of(fd);
	int ret = real.fstatfs(fd, fs);

	if (d && d->pc->state && !ret && fs->f_type == TMPFS_MAGIC)
		fs->f_type = EXT4_SUPER_MAGIC;
	return ret;
}

/* libc has each with offsets of 64 bits under two names. */
/* NOLINTBEGIN(bugprone-macro-parentheses): it declares what it is given */
#define EXPORT(as, name, function)                   \
	extern __typeof__(function) as __asm__(name) \
		__attribute__((alias(#function), visibility("default")))
/* NOLINTEND(bugprone-macro-parentheses) */

EXPORT(as_open, "open", fd_open);
EXPORT(as_open64, "open64", fd_open);
EXPORT(as_open_2, "__open_2", fd_open_2);
EXPORT(as_open64_2, "__open64_2", fd_open_2);
EXPORT(as_close, "close", fd_close);
EXPORT(as_pread, "pread", fd_pread);
EXPORT(as_pread64, "pread64", fd_pread);
EXPORT(as_pwrite, "pwrite", fd_pwrite);
EXPORT(as_pwrite64, "pwrite64", fd_pwrite);
EXPORT(as_fallocate, "fallocate", fd_fallocate);
EXPORT(as_fallocate64, "fallocate64", fd_fallocate);
EXPORT(as_fdatasync, "fdatasync", fd_fdatasync);
EXPORT(as_fsync, "fsync", fd_fsync);
EXPORT(as_syncfs, "syncfs", fd_syncfs);
EXPORT(as_fadvise, "posix_fadvise", fd_fadvise);
EXPORT(as_fadvise64, "posix_fadvise64", fd_fadvise);
EXPORT(as_mmap, "mmap", fd_mmap);
EXPORT(as_mmap64, "mmap64", fd_mmap);
EXPORT(as_munmap, "munmap", fd_munmap);
EXPORT(as_mincore, "mincore", fd_mincore);
EXPORT(as_msync, "msync", fd_msync);
EXPORT(as_fstatfs, "fstatfs", fd_fstatfs);
EXPORT(as_fstatfs64, "fstatfs64", fd_fstatfs);
