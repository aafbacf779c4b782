// SPDX-License-Identifier: BSD-2-Clause
/* Which clients are kept out, and the file that remembers it: see fences.h. */
#include "brickd/session/fences.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brickd/base/log.h"

#define FILE_MODE  0600
#define LINE_BYTES 128

/* Where a name is, or would be. */
static uint32_t place_of(const struct brick_fences *f, const char *name)
{
	uint32_t at = 0;

	while (at < f->n && strcmp(f->names[at], name) < 0)
		at++;
	return at;
}

static bool is_at(const struct brick_fences *f, uint32_t at, const char *name)
{
	return at < f->n && !strcmp(f->names[at], name);
}

bool brick_fences_has(const struct brick_fences *f, const char *name)
{
	return is_at(f, place_of(f, name), name);
}

const char *brick_fences_after(const struct brick_fences *f, const char *name)
{
	uint32_t at = place_of(f, name);

	at += is_at(f, at, name);
	return at < f->n ? f->names[at] : NULL;
}

void brick_fences_set(struct brick_fences *f, const char *name,
		      bool is_kept_out)
{
	uint32_t at = place_of(f, name);

	if (is_at(f, at, name) == is_kept_out)
		return;
	if (is_kept_out) {
		memmove(f->names[at + 1], f->names[at],
			(f->n - at) * sizeof(f->names[0]));
		snprintf(f->names[at], sizeof(f->names[at]), "%s", name);
		f->n++;
		return;
	}
	f->n--;
	memmove(f->names[at], f->names[at + 1],
		(f->n - at) * sizeof(f->names[0]));
}

static char *add_line(char *end, const char *name)
{
	end = stpcpy(end, name);
	*end++ = '\n';
	return end;
}

int brick_fences_text(const struct brick_fences *f, const char *name,
		      bool is_kept_out, char **text)
{
	uint32_t at = place_of(f, name);
	char *made, *end;

	if (is_kept_out && f->n == BRICK_FENCES_MAX)
		return -EDQUOT;
	made = malloc((f->n + 1) * sizeof(f->names[0]) + 1);
	if (!made)
		return -ENOMEM;
	end = made;
	for (uint32_t i = 0; i < f->n; i++) {
		if (i == at && is_kept_out)
			end = add_line(end, name);
		if (is_kept_out || !is_at(f, i, name))
			end = add_line(end, f->names[i]);
	}
	if (at == f->n && is_kept_out)
		end = add_line(end, name);
	*end = '\0';
	*text = made;
	return 0;
}

static int write_fences(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return fsync(fd) ? -errno : 0;
}

/* A name is durable when its folder is. */
static int sync_folder(const char *path)
{
	char dir[PATH_MAX];
	int fd, rc;

	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path) + 1,
		 path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) ? -errno : 0;
	close(fd);
	return rc;
}

int brick_fences_write(const char *path, const char *text)
{
	char fresh[PATH_MAX];
	int fd, rc;

	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		  FILE_MODE);
	if (fd < 0)
		return -errno;
	rc = write_fences(fd, text, strlen(text));
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(fresh, path))
		rc = -errno;
	if (!rc)
		rc = sync_folder(path);
	return rc;
}

static int read_names(struct brick_fences *f, FILE *file, char *err,
		      size_t err_len)
{
	char line[LINE_BYTES];

	for (unsigned int n = 1; fgets(line, sizeof(line), file); n++) {
		size_t len = strcspn(line, "\n");

		/* A line without an end is not one that brickd wrote. */
		if (line[len] == '\n')
			line[len] = '\0';
		else
			*line = '\0';
		if (!brick_client_name_is_good(line) ||
		    f->n == BRICK_FENCES_MAX) {
			snprintf(
				err, err_len,
				"fences: %s:%u is no client's name, or one too "
				"many: who is kept out is not known; write one "
				"name in each line",
				f->path, n);
			return -EINVAL;
		}
		brick_fences_set(f, line, true);
	}
	if (!ferror(file))
		return 0;
	snprintf(err, err_len, "fences: %s cannot be read", f->path);
	return -EIO;
}

int brick_fences_open(struct brick_fences *f, const char *path, char *err,
		      size_t err_len)
{
	FILE *file;
	char *text;
	int rc = 0;

	f->path = path;
	if (!path)
		return 0;
	file = fopen(path, "re");
	if (file) {
		rc = read_names(f, file, err, err_len);
		fclose(file);
	} else if (errno != ENOENT) {
		rc = -errno;
		snprintf(err, err_len, "fences: %s: %s", path, strerror(-rc));
	}
	if (rc)
		return rc;
	/* Found out now, and not when somebody has to be kept out. */
	rc = brick_fences_text(f, "", false, &text);
	if (!rc) {
		rc = brick_fences_write(path, text);
		free(text);
	}
	if (rc)
		snprintf(err, err_len, "fences: %s cannot be written: %s", path,
			 strerror(-rc));
	for (uint32_t i = 0; !rc && i < f->n; i++)
		brick_log(LOG_NOTICE, NULL, "client %s is fenced: kept out",
			  f->names[i]);
	return rc;
}
