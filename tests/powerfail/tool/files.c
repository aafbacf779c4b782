// SPDX-License-Identifier: BSD-2-Clause
/*
 * powerfail-files: a load of a file system that syncs all the time, and what of
 * it must be there after its disk has lost power.
 *
 *   powerfail-files load NOTES FOLDER SEED    until an error, or a kill
 *   powerfail-files load NOTES FOLDER SEED SYNCS DEVICE
 *                                             so many, each with a mark in the
 *                                             log of this dm-log-writes device
 *   powerfail-files verify NOTES FOLDER [SYNCS]
 *                                             after so many syncs; exit status:
 *                                             as powerfail-verify's
 *
 * Files are overwritten in place, replaced by renaming, removed and made again;
 * a log grows. NOTES, which must be elsewhere, gets a line before each change
 * and one after its sync: FILE VERSION WHAT DONE. Each word of a file tells its
 * version and its run (plan.h): another run's files, of the same SEED too, are
 * foreign.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mark.h"
#include "plan.h"

#define N_FILES	   48
#define FILE_BYTES 12288 /* three blocks: they may be torn between them */
#define LOG_FILE   N_FILES /* its versions are its records */
#define LOG_BYTES  512
#define NOBODY	   (N_FILES + 1)
#define LINE_BYTES 80
#define PATH_BYTES 64

enum {
	EXIT_GOOD,
	EXIT_LOST,
	EXIT_USAGE,
	EXIT_UNKNOWN,
};

/* What a note says of a file. */
enum what {
	WHAT_THERE = 'w',
	WHAT_GONE = 'r',
};

struct state {
	uint32_t version; /* durable */
	bool is_gone; /* removed after it */
};

struct files {
	struct plan plan;
	struct state durable[N_FILES + 1];
	uint32_t newest[N_FILES + 1];
	uint32_t begun; /* the file that was being changed at the end */
	enum what begun_what;
	FILE *notes;
	uint64_t dice;
	uint64_t n_notes; /* of syncs */
	uint64_t most_notes;
	struct marks marks; /* if its name is set */
	uint8_t bytes[FILE_BYTES];
};

static void plan_init(struct files *f, uint64_t seed, uint64_t salt)
{
	f->plan = (struct plan){
		.run = seed, .salt = salt, .record = FILE_BYTES, .jobs = 1
	};
	f->dice = seed;
}

static uint32_t roll(struct files *f, uint32_t bound)
{
	f->dice = plan_mix(f->dice, 1);
	return (uint32_t)(f->dice >> 32) % bound;
}

static void path_of(uint32_t file, const char *suffix, char path[PATH_BYTES])
{
	(void)snprintf(path, PATH_BYTES, "f%02" PRIu32 "%s", file, suffix);
}

/* ---- load -------------------------------------------------------------- */

static int sync_folder(void)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || fsync(fd) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return rc;
}

/* Write all of a file's next version, and sync it. */
static int put(struct files *f, uint32_t file, const char *path, int flags)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
	int rc = 0;

	if (fd < 0)
		return -errno;
	plan_fill(&f->plan, file, f->newest[file], f->bytes);
	if (write(fd, f->bytes, FILE_BYTES) != FILE_BYTES || fsync(fd))
		rc = errno ? -errno : -EIO;
	close(fd);
	return rc;
}

static int overwrite(struct files *f, uint32_t file)
{
	char path[PATH_BYTES];
	int rc;

	path_of(file, "", path);
	rc = put(f, file, path, 0);
	return rc ? rc : sync_folder();
}

static int replace(struct files *f, uint32_t file)
{
	char path[PATH_BYTES], fresh[PATH_BYTES];
	int rc;

	path_of(file, "", path);
	path_of(file, ".new", fresh);
	rc = put(f, file, fresh, O_TRUNC);
	if (!rc && rename(fresh, path))
		rc = -errno;
	return rc ? rc : sync_folder();
}

static int drop(struct files *f, uint32_t file)
{
	char path[PATH_BYTES];

	path_of(file, "", path);
	if (unlink(path) && errno != ENOENT)
		return -errno;
	return sync_folder();
}

static int extend_log(struct files *f, uint32_t file)
{
	int fd = open("log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	int rc = 0;

	if (fd < 0)
		return -errno;
	plan_fill(&f->plan, file, f->newest[file], f->bytes);
	if (write(fd, f->bytes, LOG_BYTES) != LOG_BYTES || fdatasync(fd))
		rc = errno ? -errno : -EIO;
	close(fd);
	if (!rc && f->newest[file] == 1)
		rc = sync_folder();
	return rc;
}

static int note(struct files *f, uint32_t file, enum what what, int done)
{
	if (fprintf(f->notes, "%" PRIu32 " %" PRIu32 " %c %d\n", file,
		    f->newest[file], what, done) < 0 ||
	    fflush(f->notes))
		return -EIO;
	f->n_notes += (uint64_t)done;
	return done && f->marks.name ? marks_put(&f->marks, f->n_notes) : 0;
}

static int step(struct files *f)
{
	int (*const changes[])(struct files * f, uint32_t file) = {
		overwrite,
		replace,
		drop,
		extend_log,
	};
	uint32_t file = roll(f, N_FILES), which = roll(f, 4);
	enum what what = changes[which] == drop ? WHAT_GONE : WHAT_THERE;
	int rc;

	errno = 0;
	if (changes[which] == extend_log)
		file = LOG_FILE;
	f->newest[file] += what == WHAT_THERE;
	rc = note(f, file, what, 0);
	if (!rc)
		rc = changes[which](f, file);
	return rc ? rc : note(f, file, what, 1);
}

static int load(struct files *f, const char *notes, const char *folder,
		const char *seed)
{
	uint64_t salt;
	int rc = 0;

	if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt)) {
		perror("powerfail-files");
		return EXIT_UNKNOWN;
	}
	plan_init(f, strtoull(seed, NULL, 10), salt);
	f->notes = fopen(notes, "wxe");
	if (!f->notes ||
	    fprintf(f->notes, "seed %" PRIu64 " salt %" PRIu64 "\n",
		    f->plan.run, salt) < 0 ||
	    fflush(f->notes) || chdir(folder)) {
		perror("powerfail-files");
		return EXIT_UNKNOWN;
	}
	while (!rc && f->n_notes < f->most_notes)
		rc = step(f);
	if (!rc)
		return EXIT_GOOD;
	fprintf(stderr, "powerfail-files: %s\n", strerror(-rc));
	return EXIT_LOST;
}

static int load_marked(struct files *f, char **words)
{
	int rc = marks_open(&f->marks, words[4]);

	if (rc) {
		fprintf(stderr, "powerfail-files: %s\n", strerror(-rc));
		return EXIT_UNKNOWN;
	}
	f->most_notes = strtoull(words[3], NULL, 10);
	return load(f, words[0], words[1], words[2]);
}

/* ---- verify ------------------------------------------------------------ */

static int read_notes(struct files *f, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[LINE_BYTES], what;
	uint32_t which, version;
	uint64_t seed, salt;
	int rc = -EINVAL, done;

	if (!file)
		return -errno;
	f->begun = NOBODY;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	/* NOLINTNEXTLINE(cert-err34-c): a program of ours wrote it */
	if (sscanf(line, "seed %" SCNu64 " salt %" SCNu64, &seed, &salt) == 2) {
		plan_init(f, seed, salt);
		rc = 0;
	}
	while (!rc && fgets(line, sizeof(line), file) && strchr(line, '\n')) {
		/* NOLINTNEXTLINE(cert-err34-c): a program of ours wrote it */
		if (sscanf(line, "%" SCNu32 " %" SCNu32 " %c %d", &which,
			   &version, &what, &done) != 4 ||
		    which > N_FILES) {
			rc = -EINVAL;
			break;
		}
		if (done && f->n_notes == f->most_notes)
			break;
		f->begun = done ? NOBODY : which;
		f->begun_what = (enum what)what;
		if (!done)
			continue;
		f->durable[which].version = version;
		f->durable[which].is_gone = what == WHAT_GONE;
		f->n_notes++;
	}
	(void)fclose(file);
	return rc;
}

/* Is every word of some bytes of these versions? */
static bool is_of(const struct files *f, uint32_t file, uint32_t oldest,
		  uint32_t newest, size_t len)
{
	uint64_t word;
	uint32_t seq;

	for (uint32_t i = 0; i < len / PLAN_WORD; i++) {
		memcpy(&word, f->bytes + (size_t)i * PLAN_WORD, sizeof(word));
		seq = (uint32_t)(word >> 32);
		if (seq < oldest || seq > newest ||
		    word != plan_value(&f->plan, file, i, seq))
			return false;
	}
	return true;
}

static ssize_t get(struct files *f, const char *path, off_t at, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = pread(fd, f->bytes, len, at);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}

static bool verify_file(struct files *f, uint32_t file)
{
	const struct state *s = &f->durable[file];
	bool is_begun = file == f->begun;
	char path[PATH_BYTES];
	ssize_t n;

	path_of(file, "", path);
	n = get(f, path, 0, FILE_BYTES);
	/* It was not there, and the last thing was to make it. */
	if ((s->is_gone || !s->version) && is_begun)
		return true;
	if (s->is_gone || !s->version) {
		if (n == -ENOENT)
			return true;
		printf("%s: it was not there, durably\n", path);
		return false;
	}
	if (n == -ENOENT && is_begun && f->begun_what == WHAT_GONE)
		return true;
	if (n == FILE_BYTES &&
	    is_of(f, file, s->version, s->version + is_begun, FILE_BYTES))
		return true;
	printf("%s: version %" PRIu32 " was durable: %s\n", path, s->version,
	       n < 0 ? strerror((int)-n) : "it holds something else");
	return false;
}

static bool verify_log(struct files *f)
{
	uint32_t version = 1, last = f->durable[LOG_FILE].version;
	ssize_t n;

	for (; version <= last; version++) {
		n = get(f, "log", (off_t)(version - 1) * LOG_BYTES, LOG_BYTES);
		if (n == LOG_BYTES &&
		    is_of(f, LOG_FILE, version, version, LOG_BYTES))
			continue;
		printf("log: record %" PRIu32 " of %" PRIu32
		       " durable ones is not there\n",
		       version, last);
		return false;
	}
	return true;
}

static int verify(struct files *f, const char *notes, const char *folder)
{
	uint32_t lost = 0;
	int rc = read_notes(f, notes);

	if (rc || chdir(folder)) {
		fprintf(stderr, "powerfail-files: %s\n",
			strerror(rc ? -rc : errno));
		return EXIT_UNKNOWN;
	}
	for (uint32_t i = 0; i < N_FILES; i++)
		lost += !verify_file(f, i);
	lost += !verify_log(f);
	printf("%s: %" PRIu64 " syncs noted, %" PRIu32 " files lost\n",
	       lost ? "LOST" : "GOOD", f->n_notes, lost);
	if (!f->n_notes)
		return EXIT_UNKNOWN;
	return lost ? EXIT_LOST : EXIT_GOOD;
}

int main(int argc, char **argv)
{
	static struct files f = { .most_notes = UINT64_MAX };

	if (argc == 5 && !strcmp(argv[1], "load"))
		return load(&f, argv[2], argv[3], argv[4]);
	if (argc == 7 && !strcmp(argv[1], "load"))
		return load_marked(&f, argv + 2);
	if (argc == 5 && !strcmp(argv[1], "verify"))
		f.most_notes = strtoull(argv[4], NULL, 10);
	if ((argc == 4 || argc == 5) && !strcmp(argv[1], "verify"))
		return verify(&f, argv[2], argv[3]);
	fputs("usage: powerfail-files load NOTES FOLDER SEED [SYNCS DEVICE]\n"
	      "       powerfail-files verify NOTES FOLDER [SYNCS]\n",
	      stderr);
	return EXIT_USAGE;
}
