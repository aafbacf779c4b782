// SPDX-License-Identifier: BSD-2-Clause
/* The file that remembers persistent reservations: see reservations.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brickd/base/log.h"
#include "brickd/base/state_file.h"
#include "brickd/config/config.h"
#include "brickd/reserve/reservations.h"
#include "proto/kfb_text.h"

#define LINE_BYTES 128
#define WORDS_MAX  4
#define HOLDER	   "holder"

/* ---- writing ---- */

static char *add_disk(char *end, const struct brick_reserved *disk)
{
	end += sprintf(end, "disk 0x%" PRIx64 "+%" PRIu64 " %u\n",
		       disk->span.first << KFB_BLOCK_SHIFT,
		       disk->span.end - disk->span.first, disk->keys.type);
	for (uint32_t i = 0; i < disk->keys.n; i++) {
		const struct brick_registrant *one = &disk->keys.list[i];

		end += sprintf(end, "key 0x%" PRIx64 " %s%s\n", one->key,
			       one->name, one->is_holder ? " " HOLDER : "");
	}
	return end;
}

int brick_reservations_text(const struct brick_reservations *all,
			    const struct brick_reserved *then,
			    bool has_new_keys, char **text)
{
	size_t n_lines = 1;
	char *made, *end;

	for (uint32_t i = 0; i < all->n; i++)
		n_lines += 1 + all->list[i]->keys.n;
	if (then)
		n_lines += 1 + then->keys.n;
	made = malloc(n_lines * LINE_BYTES);
	if (!made)
		return -ENOMEM;
	end = made + sprintf(made, "generation %" PRIu32 "\n",
			     all->generation + has_new_keys);
	for (uint32_t i = 0; i < all->n; i++)
		if (!then || all->list[i]->span.first != then->span.first)
			end = add_disk(end, all->list[i]);
	if (then && then->keys.n)
		add_disk(end, then);
	*text = made;
	return 0;
}

int brick_reservations_write(const char *path, const char *text)
{
	return brick_state_file_replace(path, text);
}

/* ---- reading ---- */

static int read_disk(struct brick_reserved *disk, const char *range,
		     const char *type)
{
	__u64 va, n_blocks, value;

	if (kfb_range_parse(range, &va, &n_blocks, NULL) ||
	    kfb_size_parse(type, &value, NULL) || value > KFB_RESERVED_LAST)
		return -EINVAL;
	*disk = (struct brick_reserved){
		.span = brick_span_of(va, n_blocks),
		.keys.type = (uint8_t)value,
	};
	return 0;
}

static int read_registrant(struct brick_reserved *disk, char *words[],
			   unsigned int n)
{
	struct brick_registrant *one = &disk->keys.list[disk->keys.n];
	__u64 key;

	if (disk->keys.n == KFB_REGISTRANTS_MAX ||
	    kfb_size_parse(words[1], &key, NULL) || !key ||
	    !brick_client_name_is_good(words[2]) ||
	    brick_keys_find(&disk->keys, words[2]) != disk->keys.n ||
	    (n == 4 && strcmp(words[3], HOLDER) != 0))
		return -EINVAL;
	*one = (struct brick_registrant){ .key = key, .is_holder = n == 4 };
	snprintf(one->name, sizeof(one->name), "%s", words[2]);
	disk->keys.n++;
	return 0;
}

/* A disk whose lines are all there goes into the table, if it can be one. */
static int end_disk(struct brick_reservations *all,
		    const struct brick_reserved *disk)
{
	bool is_of_one =
		disk->keys.type && !brick_reserve_is_of_all(disk->keys.type);
	const struct brick_reserved *other;
	struct brick_reserved *made;
	uint32_t n_holders = 0;

	for (uint32_t i = 0; i < disk->keys.n; i++)
		n_holders += disk->keys.list[i].is_holder;
	if (!disk->keys.n || n_holders != is_of_one ||
	    all->n == BRICK_RESERVATIONS_MAX ||
	    brick_reservations_find(all, disk->span, &other) || other)
		return -EINVAL;
	made = malloc(sizeof(*made));
	if (!made)
		return -ENOMEM;
	*made = *disk;
	brick_reservations_set(all, made, false);
	return 0;
}

/*
 * struct reading - how far the file has been read
 * @n_lines: with the one that is read
 * @has_disk: lines of @disk have been read
 */
struct reading {
	struct brick_reservations *all;
	unsigned int n_lines;
	bool has_disk;
	struct brick_reserved disk;
};

static int finish_disk(struct reading *r)
{
	int rc = r->has_disk ? end_disk(r->all, &r->disk) : 0;

	r->has_disk = false;
	return rc;
}

/* A line without an end is not one that brickd wrote. */
static int take_line(struct reading *r, char *line)
{
	char *words[WORDS_MAX], *end = strchr(line, '\n'), *rest = line;
	unsigned int n = 0;
	__u64 value;
	int rc;

	if (!end)
		return -EINVAL;
	*end = '\0';
	while (rest && n < WORDS_MAX)
		words[n++] = strsep(&rest, " ");
	if (rest)
		return -EINVAL;
	if (r->n_lines == 1) {
		if (n != 2 || strcmp(words[0], "generation") != 0 ||
		    kfb_size_parse(words[1], &value, NULL) ||
		    value > UINT32_MAX)
			return -EINVAL;
		r->all->generation = (uint32_t)value;
		return 0;
	}
	if (r->has_disk && (n == 3 || n == 4) && !strcmp(words[0], "key"))
		return read_registrant(&r->disk, words, n);
	if (n != 3 || strcmp(words[0], "disk") != 0)
		return -EINVAL;
	rc = finish_disk(r);
	if (!rc)
		rc = read_disk(&r->disk, words[1], words[2]);
	r->has_disk = !rc;
	return rc;
}

static int read_lines(struct reading *r, FILE *file, char *err, size_t err_len)
{
	char line[LINE_BYTES];
	int rc = 0;

	while (!rc && fgets(line, sizeof(line), file)) {
		r->n_lines++;
		rc = take_line(r, line);
	}
	if (!rc && ferror(file)) {
		snprintf(err, err_len, "reservations: %s cannot be read",
			 r->all->path);
		return -EIO;
	}
	if (!rc)
		rc = r->n_lines ? finish_disk(r) : -EINVAL;
	if (rc)
		snprintf(err, err_len,
			 "reservations: %s:%u is damaged, or has been edited: "
			 "what is reserved is not known; remove the file if "
			 "nothing is",
			 r->all->path, r->n_lines);
	return rc;
}

static int read_reservations(struct brick_reservations *all, char *err,
			     size_t err_len)
{
	struct reading *r = calloc(1, sizeof(*r));
	FILE *file = r ? fopen(all->path, "re") : NULL;
	int rc = 0;

	if (!r) {
		rc = -ENOMEM;
	} else if (!file) {
		rc = errno == ENOENT ? 0 : -errno;
	} else {
		r->all = all;
		rc = read_lines(r, file, err, err_len);
		fclose(file);
		free(r);
		return rc;
	}
	free(r);
	if (rc)
		snprintf(err, err_len, "reservations: %s: %s", all->path,
			 strerror(-rc));
	return rc;
}

/* Whether it can be is found out now, and not when something is to be reserved. */
static int rewrite_reservations(const struct brick_reservations *all, char *err,
				size_t err_len)
{
	char *text;
	int rc = brick_reservations_text(all, NULL, false, &text);

	if (!rc) {
		rc = brick_reservations_write(all->path, text);
		free(text);
	}
	if (rc)
		snprintf(err, err_len, "reservations: %s cannot be written: %s",
			 all->path, strerror(-rc));
	return rc;
}

int brick_reservations_open(struct brick_reservations *all, const char *path,
			    char *err, size_t err_len)
{
	int rc;

	all->path = path;
	all->lock_fd = -1;
	if (!path)
		return 0;
	rc = brick_state_file_lock(path, "reservations", &all->lock_fd, err,
				   err_len);
	if (!rc)
		rc = read_reservations(all, err, err_len);
	if (!rc)
		rc = rewrite_reservations(all, err, err_len);
	if (rc) {
		brick_reservations_close(all);
		return rc;
	}
	if (all->n)
		brick_log(LOG_NOTICE, NULL,
			  "%" PRIu32 " disks have persistent reservations or "
			  "registrants",
			  all->n);
	return 0;
}

void brick_reservations_close(struct brick_reservations *all)
{
	while (all->n)
		free(all->list[--all->n]);
	if (all->lock_fd >= 0)
		close(all->lock_fd);
	all->lock_fd = -1;
}
