// SPDX-License-Identifier: BSD-2-Clause
/* The mark off the medium: see media_mark.h. */
#include "brickd/media/media_mark.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_MODE  0755
#define FILE_MODE 0600

enum place {
	RUNTIME,
	BESIDE,
	PLACES,
};

static const char failed[] = "failed", cold[] = "cold";

/* The first one, where systemd names several. */
static int runtime_dir(char dir[PATH_MAX])
{
	const char *all = getenv("RUNTIME_DIRECTORY");
	int n;

	if (!all || *all != '/')
		all = BRICK_MARK_DIR;
	n = snprintf(dir, PATH_MAX, "%.*s", (int)strcspn(all, ":"), all);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/*
 * By what it says, failed or cold. Runtime: a name that says whose it is: the
 * store's path with ! for each /.
 */
static int path_of(enum place place, const char *what, const char *store,
		   char path[PATH_MAX])
{
	char dir[PATH_MAX];
	size_t at;
	int n;

	if (place == BESIDE) {
		n = snprintf(path, PATH_MAX, "%s.%s", store, what);
		return n < PATH_MAX ? 0 : -ENAMETOOLONG;
	}
	if (runtime_dir(dir))
		return -ENAMETOOLONG;
	at = strlen(dir);
	n = snprintf(path, PATH_MAX, "%s/%s%s", dir, what, store);
	if (n >= PATH_MAX)
		return -ENAMETOOLONG;
	while (path[++at])
		if (path[at] == '/')
			path[at] = '!';
	return 0;
}

static int set_mark(const char *what, const char *store, const char *why)
{
	char path[PATH_MAX], dir[PATH_MAX];
	int ret = -EIO, fd;

	if (!runtime_dir(dir))
		(void)mkdir(dir, DIR_MODE);
	for (int place = RUNTIME; ret && place < PLACES; place++) {
		ret = path_of(place, what, store, path);
		if (ret)
			continue;
		/* Whoever owns the folder may have put a link there. */
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			  FILE_MODE);
		if (fd < 0) {
			ret = errno == EEXIST ? 0 : -errno;
			continue;
		}
		/* That the file is there is what counts. */
		(void)dprintf(fd, "%s: %s\n", store, why);
		(void)close(fd);
	}
	return ret;
}

static bool has_mark(const char *what, const char *store)
{
	char path[PATH_MAX];
	bool is_there = false;
	struct stat st;

	for (int place = RUNTIME; place < PLACES; place++)
		is_there |=
			!path_of(place, what, store, path) && !lstat(path, &st);
	return is_there;
}

static void clear_mark(const char *what, const char *store)
{
	char path[PATH_MAX];

	for (int place = RUNTIME; place < PLACES; place++)
		if (!path_of(place, what, store, path))
			(void)unlink(path);
}

int brick_mark_set(const char *store, const char *why)
{
	return set_mark(failed, store, why);
}

bool brick_mark_is_set(const char *store)
{
	return has_mark(failed, store);
}

void brick_mark_clear(const char *store)
{
	clear_mark(failed, store);
}

int brick_mark_set_cold(const char *store)
{
	return set_mark(cold, store, "nothing of it was in memory");
}

bool brick_mark_is_cold(const char *store)
{
	return has_mark(cold, store);
}

void brick_mark_clear_cold(const char *store)
{
	clear_mark(cold, store);
}

/* It holds the uuids of the stores that have told of the loss. */
static int path_of_loss(uint64_t fs_id, char path[PATH_MAX])
{
	char dir[PATH_MAX];
	int n;

	if (!fs_id)
		return -ENOENT;
	if (runtime_dir(dir))
		return -ENAMETOOLONG;
	n = snprintf(path, PATH_MAX, "%s/lost-%" PRIx64, dir, fs_id);
	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int brick_mark_loss(uint64_t fs_id)
{
	char path[PATH_MAX], dir[PATH_MAX];
	int ret = path_of_loss(fs_id, path), fd;

	if (ret)
		return ret;
	if (!runtime_dir(dir))
		(void)mkdir(dir, DIR_MODE);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
	if (fd < 0)
		return -errno;
	(void)close(fd);
	return 0;
}

bool brick_mark_has_loss(uint64_t fs_id, const uint8_t uuid[KFB_UUID_BYTES])
{
	uint8_t told[KFB_UUID_BYTES];
	char path[PATH_MAX];
	bool is_new = true;
	struct stat st;
	FILE *file;

	if (path_of_loss(fs_id, path))
		return false;
	file = fopen(path, "re");
	if (!file)
		return !lstat(path, &st); /* somebody else's: in doubt */
	while (is_new && fread(told, sizeof(told), 1, file) == 1)
		is_new = memcmp(told, uuid, sizeof(told)) != 0;
	(void)fclose(file);
	return is_new;
}

void brick_mark_loss_told(uint64_t fs_id, const uint8_t uuid[KFB_UUID_BYTES])
{
	char path[PATH_MAX];
	int fd;

	if (!brick_mark_has_loss(fs_id, uuid) || path_of_loss(fs_id, path))
		return;
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return;
	/* If it cannot be noted it is told again. */
	(void)!write(fd, uuid, KFB_UUID_BYTES);
	(void)close(fd);
}
