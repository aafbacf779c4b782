// SPDX-License-Identifier: BSD-2-Clause
/* The notes of a run: see notes.h. */
#include "notes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 160
#define HEAD                                                           \
	"powerfail 1 run %" PRIx64 " salt %" PRIx64 " offset %" PRIu64 \
	" size %" PRIu64 " record %" PRIu32 " jobs %" PRIu32 "\n"
#define SCAN_HEAD                                                      \
	"powerfail 1 run %" SCNx64 " salt %" SCNx64 " offset %" SCNu64 \
	" size %" SCNu64 " record %" SCNu32 " jobs %" SCNu32 "\n"

static uint32_t check_of(const struct plan *p, uint32_t job, uint32_t seq)
{
	return (uint32_t)plan_mix(~p->run ^ p->salt,
				  ((uint64_t)job << 32) | seq);
}

static int put_line(int fd, const char *line, int len)
{
	ssize_t n = write(fd, line, (size_t)len);

	if (n < 0)
		return -errno;
	return n == len ? 0 : -ENOSPC;
}

int notes_create(const char *path, const struct plan *p)
{
	char line[LINE_BYTES];
	int len, rc;
	int fd = open(path,
		      O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_DSYNC |
			      O_CLOEXEC,
		      0600);

	if (fd < 0)
		return -errno;
	len = snprintf(line, sizeof(line), HEAD, p->run, p->salt, p->offset,
		       p->size, p->record, p->jobs);
	rc = put_line(fd, line, len);
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int notes_add(int fd, const struct plan *p, uint32_t job, uint32_t seq)
{
	char line[LINE_BYTES];
	int len = snprintf(line, sizeof(line),
			   "flushed %" PRIu32 " %" PRIu32 " %08" PRIx32 "\n",
			   job, seq, check_of(p, job, seq));

	return put_line(fd, line, len);
}

static int read_head(FILE *file, struct notes *out, const char **why)
{
	struct plan *p = &out->plan;
	char line[LINE_BYTES];

	*why = "this is no file that powerfail-writer made";
	if (!fgets(line, sizeof(line), file))
		return -EINVAL;
	/* NOLINTNEXTLINE(cert-err34-c): the plan's check sees overflows */
	if (sscanf(line, SCAN_HEAD, &p->run, &p->salt, &p->offset, &p->size,
		   &p->record, &p->jobs) != 6 ||
	    !strchr(line, '\n') || !plan_is_valid(p))
		return -EINVAL;
	return 0;
}

static int read_lines(FILE *file, struct notes *out, const char **why)
{
	uint32_t job, seq, check;
	char line[LINE_BYTES];

	while (fgets(line, sizeof(line), file)) {
		if (!strchr(line, '\n'))
			break;
		*why = "a line of it is damaged";
		/* NOLINTNEXTLINE(cert-err34-c): the check sees overflows */
		if (sscanf(line, "flushed %" SCNu32 " %" SCNu32 " %" SCNx32,
			   &job, &seq, &check) != 3 ||
		    job >= out->plan.jobs || !seq ||
		    check != check_of(&out->plan, job, seq))
			return -EINVAL;
		if (seq > out->flushed[job])
			out->flushed[job] = seq;
		out->lines++;
	}
	return 0;
}

int notes_read(const char *path, struct notes *out, const char **why)
{
	FILE *file = fopen(path, "re");
	int rc;

	memset(out, 0, sizeof(*out));
	if (!file) {
		rc = -errno;
		*why = strerror(errno);
		return rc;
	}
	rc = read_head(file, out, why);
	if (!rc)
		rc = read_lines(file, out, why);
	if (!rc && ferror(file)) {
		*why = "it cannot be read";
		rc = -EIO;
	}
	(void)fclose(file);
	return rc;
}
