// SPDX-License-Identifier: BSD-2-Clause
/* Which clients are kept out, and the file that remembers it: see fences.h. */
#include "brickd/session/fences.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brickd/base/log.h"
#include "brickd/base/state_file.h"

#define LINE_BYTES 128
#define ADMITTED   " admitted"

/* Odd, so that no two numbers of fences lead from one birth to the same. */
#define BIRTH_STEP 2654435761U

/* Where a name is, or would be. */
static uint32_t place_of(const struct brick_fences *f, const char *name)
{
	uint32_t at = 0;

	while (at < f->n && strcmp(f->list[at].name, name) < 0)
		at++;
	return at;
}

static bool is_at(const struct brick_fences *f, uint32_t at, const char *name)
{
	return at < f->n && !strcmp(f->list[at].name, name);
}

bool brick_fences_has(const struct brick_fences *f, const char *name)
{
	uint32_t at = place_of(f, name);

	return is_at(f, at, name) && f->list[at].is_kept_out;
}

bool brick_fences_has_surely(const struct brick_fences *f, const char *name)
{
	return brick_fences_has(f, name) &&
	       !f->list[place_of(f, name)].may_be_in;
}

void brick_fences_failed(struct brick_fences *f, const char *name,
			 bool is_kept_out)
{
	f->is_unsure = true;
	if (!is_kept_out && brick_fences_has(f, name))
		f->list[place_of(f, name)].may_be_in = true;
}

uint32_t brick_fences_birth(const struct brick_fences *f,
			    const struct brick_client *client, uint32_t birth)
{
	uint32_t at = place_of(f, client->name);

	if (*client->group && is_at(f, at, client->name))
		birth += f->list[at].n_times * BIRTH_STEP;
	return birth;
}

const char *brick_fences_after(const struct brick_fences *f, const char *name)
{
	uint32_t at = place_of(f, name);

	at += is_at(f, at, name);
	while (at < f->n && !f->list[at].is_kept_out)
		at++;
	return at < f->n ? f->list[at].name : NULL;
}

void brick_fences_set(struct brick_fences *f, const char *name,
		      bool is_kept_out, bool in_group)
{
	uint32_t at = place_of(f, name);
	struct brick_fence *fence = &f->list[at];

	f->is_unsure = false;
	for (uint32_t i = 0; i < f->n; i++)
		f->list[i].may_be_in = false;
	if (brick_fences_has(f, name) == is_kept_out)
		return;
	if (is_kept_out && !is_at(f, at, name)) {
		memmove(fence + 1, fence, (f->n - at) * sizeof(*fence));
		*fence = (struct brick_fence){ 0 };
		snprintf(fence->name, sizeof(fence->name), "%s", name);
		f->n++;
	}
	fence->is_kept_out = is_kept_out;
	if (is_kept_out) {
		fence->n_times += in_group;
	} else if (!fence->n_times) {
		f->n--;
		memmove(fence, fence + 1, (f->n - at) * sizeof(*fence));
	}
}

int brick_fences_text(const struct brick_fences *f, const char *name,
		      bool is_kept_out, bool in_group, char **text)
{
	struct brick_fences *then;
	char *made, *end;

	if (is_kept_out && f->n == BRICK_FENCES_MAX &&
	    !is_at(f, place_of(f, name), name))
		return -EDQUOT;
	then = malloc(sizeof(*then));
	made = malloc((f->n + 1) * LINE_BYTES + 1);
	if (!then || !made) {
		free(then);
		free(made);
		return -ENOMEM;
	}
	*then = *f;
	brick_fences_set(then, name, is_kept_out, in_group);
	end = made;
	for (uint32_t i = 0; i < then->n; i++) {
		const struct brick_fence *fence = &then->list[i];

		end = stpcpy(end, fence->name);
		if (fence->n_times)
			end += sprintf(end, " %" PRIu32 "%s", fence->n_times,
				       fence->is_kept_out ? "" : ADMITTED);
		*end++ = '\n';
	}
	*end = '\0';
	free(then);
	*text = made;
	return 0;
}

int brick_fences_write(const char *path, const char *text)
{
	return brick_state_file_replace(path, text);
}

/* A line without an end is not one that brickd wrote. */
static int read_line(struct brick_fences *f, char *line)
{
	char *end = strchr(line, '\n'), *rest;
	unsigned long n_times = 0;
	bool is_kept_out = true;

	if (!end || f->n == BRICK_FENCES_MAX)
		return -EINVAL;
	*end = '\0';
	rest = strchr(line, ' ');
	if (rest) {
		*rest++ = '\0';
		if (*rest < '1' || *rest > '9')
			return -EINVAL;
		errno = 0;
		n_times = strtoul(rest, &rest, 10);
		is_kept_out = strcmp(rest, ADMITTED) != 0;
		if (errno || n_times > UINT32_MAX || (is_kept_out && *rest))
			return -EINVAL;
	}
	if (!brick_client_name_is_good(line) ||
	    is_at(f, place_of(f, line), line))
		return -EINVAL;
	brick_fences_set(f, line, true, false);
	f->list[place_of(f, line)].n_times = (uint32_t)n_times;
	brick_fences_set(f, line, is_kept_out, false);
	return 0;
}

static int read_names(struct brick_fences *f, FILE *file, char *err,
		      size_t err_len)
{
	char line[LINE_BYTES];

	for (unsigned int n = 1; fgets(line, sizeof(line), file); n++) {
		if (read_line(f, line)) {
			snprintf(
				err, err_len,
				"fences: %s:%u is no client's name, or one too "
				"many: who is kept out is not known; write one "
				"name in each line",
				f->path, n);
			return -EINVAL;
		}
	}
	if (!ferror(file))
		return 0;
	snprintf(err, err_len, "fences: %s cannot be read", f->path);
	return -EIO;
}

static int read_fences(struct brick_fences *f, char *err, size_t err_len)
{
	FILE *file = fopen(f->path, "re");
	int rc = file ? 0 : -errno;

	if (file) {
		rc = read_names(f, file, err, err_len);
		fclose(file);
	} else if (rc == -ENOENT) {
		rc = 0;
	} else {
		snprintf(err, err_len, "fences: %s: %s", f->path,
			 strerror(-rc));
	}
	return rc;
}

/* Whether it can be is found out now, and not when somebody has to be kept out. */
static int rewrite_fences(const struct brick_fences *f, char *err,
			  size_t err_len)
{
	char *text;
	int rc = brick_fences_text(f, "", false, false, &text);

	if (!rc) {
		rc = brick_fences_write(f->path, text);
		free(text);
	}
	if (rc)
		snprintf(err, err_len, "fences: %s cannot be written: %s",
			 f->path, strerror(-rc));
	return rc;
}

int brick_fences_open(struct brick_fences *f, const char *path, char *err,
		      size_t err_len)
{
	int rc;

	f->path = path;
	f->lock_fd = -1;
	if (!path)
		return 0;
	rc = brick_state_file_lock(path, "fences", &f->lock_fd, err, err_len);
	if (!rc)
		rc = read_fences(f, err, err_len);
	if (!rc)
		rc = rewrite_fences(f, err, err_len);
	if (rc) {
		brick_fences_close(f);
		return rc;
	}
	for (const char *name = brick_fences_after(f, ""); name;
	     name = brick_fences_after(f, name))
		brick_log(LOG_NOTICE, NULL, "client %s is fenced: kept out",
			  name);
	return 0;
}

void brick_fences_close(struct brick_fences *f)
{
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	f->lock_fd = -1;
}
