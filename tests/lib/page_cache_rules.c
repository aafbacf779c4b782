// SPDX-License-Identifier: BSD-2-Clause
/* What is to fail next: see page_cache_rules.h. */
#include "page_cache_rules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RULES_MAX  64
#define RULE_BYTES 512
#define THREAD_MAX 16
#define HOLD_NS	   1000000

/* A rule as its file has it. */
struct rule {
	char on[16];
	char file[64];
	char thread[THREAD_MAX];
	uint64_t from;
	uint64_t len;
	unsigned int after;
	unsigned int times;
	unsigned int keep;
	int error;
	bool hold;
};

/* How often one has fitted, by its name. */
struct count {
	char name[64];
	unsigned int n;
};

static const char *const points[] = {
	[PC_AT_READ] = "read",		 [PC_AT_WRITE] = "write",
	[PC_AT_ZERO] = "zero",		 [PC_AT_SYNC] = "sync",
	[PC_AT_WRITEBACK] = "writeback", [PC_AT_CHECK] = "check",
	[PC_AT_FLUSH] = "flush",
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct count counts[RULES_MAX];

void pc_rule_log(const char *folder, const char *fmt, ...)
{
	char path[PATH_MAX], line[RULE_BYTES], thread[THREAD_MAX] = "";
	va_list args;
	int fd, n;

	(void)pthread_getname_np(pthread_self(), thread, sizeof(thread));
	n = snprintf(line, sizeof(line), "thread=%s ", thread);
	va_start(args, fmt);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, args);
	va_end(args);
	line[n++] = '\n';
	(void)snprintf(path, sizeof(path), "%s/log", folder);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	(void)!write(fd, line, (size_t)n);
	(void)close(fd);
}

static void set(struct rule *r, const char *key, const char *value)
{
	uint64_t number = strtoull(value, NULL, 0);

	if (!strcmp(key, "on"))
		(void)snprintf(r->on, sizeof(r->on), "%s", value);
	else if (!strcmp(key, "file"))
		(void)snprintf(r->file, sizeof(r->file), "%s", value);
	else if (!strcmp(key, "thread"))
		(void)snprintf(r->thread, sizeof(r->thread), "%s", value);
	else if (!strcmp(key, "from"))
		r->from = number;
	else if (!strcmp(key, "len"))
		r->len = number;
	else if (!strcmp(key, "after"))
		r->after = (unsigned int)number;
	else if (!strcmp(key, "times"))
		r->times = (unsigned int)number;
	else if (!strcmp(key, "keep"))
		r->keep = (unsigned int)number;
	else if (!strcmp(key, "error"))
		r->error = !strcmp(value, "ENOSPC") ? ENOSPC : EIO;
	else if (!strcmp(key, "hold"))
		r->hold = number;
}

static bool read_rule(const char *path, struct rule *r)
{
	char text[RULE_BYTES], *save = NULL, *word;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	*r = (struct rule){ .times = 1, .len = UINT64_MAX };
	for (word = strtok_r(text, " \n", &save); word;
	     word = strtok_r(NULL, " \n", &save)) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = '\0';
		set(r, word, value);
	}
	return true;
}

static bool fits(const struct rule *r, enum pc_point point, const char *file,
		 uint64_t off, uint64_t len)
{
	char thread[THREAD_MAX] = "";

	(void)pthread_getname_np(pthread_self(), thread, sizeof(thread));
	return !strcmp(r->on, points[point]) && !strcmp(r->file, file) &&
	       (!*r->thread || !strcmp(r->thread, thread)) &&
	       off - (off < r->from ? off : r->from) < r->len &&
	       (off >= r->from || len > r->from - off);
}

/* The counter of a name; one that is no file any more may be used anew. */
static struct count *count_of(const char *name)
{
	struct count *empty = NULL;
	unsigned int i;

	for (i = 0; i < RULES_MAX; i++) {
		if (!strcmp(counts[i].name, name))
			return &counts[i];
		if (!*counts[i].name && !empty)
			empty = &counts[i];
	}
	if (empty)
		(void)snprintf(empty->name, sizeof(empty->name), "%.63s", name);
	return empty;
}

/* Is it this one's turn? One that is used up goes, but when it holds. */
static bool use(const char *name, const char *path, const struct rule *r)
{
	struct count *c = count_of(name);
	unsigned int n = c ? c->n++ : 0;

	if (n < r->after || (r->times && n >= r->after + r->times))
		return false;
	if (r->times && !r->hold && n + 1 == r->after + r->times) {
		(void)unlink(path);
		if (c)
			*c = (struct count){ 0 };
	}
	return true;
}

/* The first rule that fits, with its path; used: and whose turn it is. */
static bool find(const char *folder, enum pc_point point, const char *file,
		 uint64_t off, uint64_t len, bool used, struct rule *r,
		 char *path, struct pc_rule *out)
{
	struct dirent **names;
	bool found = false;
	int i, n;

	(void)snprintf(path, PATH_MAX, "%s/rules", folder);
	n = scandir(path, &names, NULL, alphasort);
	for (i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		(void)snprintf(path, PATH_MAX, "%s/rules/%s", folder, name);
		found = *name != '.' && read_rule(path, r) &&
			fits(r, point, file, off, len) &&
			(!used || use(name, path, r));
		if (found) {
			(void)snprintf(out->name, sizeof(out->name), "%.63s",
				       name);
			break;
		}
	}
	for (i = 0; i < n; i++)
		free(names[i]);
	if (n >= 0)
		free(names);
	return found;
}

bool pc_rule_waits(const char *folder, enum pc_point point, const char *file)
{
	char path[PATH_MAX];
	struct pc_rule out;
	struct rule r;

	return find(folder, point, file, 0, UINT64_MAX, false, &r, path, &out);
}

bool pc_rule_apply(const char *folder, enum pc_point point, const char *file,
		   uint64_t off, uint64_t len, struct pc_rule *out)
{
	char path[PATH_MAX];
	struct rule r;
	bool found;

	pthread_mutex_lock(&lock);
	found = find(folder, point, file, off, len, true, &r, path, out);
	pthread_mutex_unlock(&lock);
	if (!found)
		return false;
	out->error = r.error;
	out->keep = r.keep;
	pc_rule_log(folder, "rule=%s on=%s file=%s error=%d", out->name, r.on,
		    file, r.error);
	while (r.hold && !access(path, F_OK))
		(void)nanosleep(&(struct timespec){ .tv_nsec = HOLD_NS }, NULL);
	return true;
}
