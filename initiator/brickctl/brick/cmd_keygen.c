// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl keygen: makes a client's key.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "initiator/brickctl/base/brickctl.h"

#define MODE_KEY    (S_IRUSR | S_IWUSR)
#define MODE_FOLDER S_IRWXU
/* Digits and a newline, where the digits' NUL was. */
#define KEY_LINE_BYTES (2 * KFBRICK_KEY_BYTES + 1)

enum {
	OPT_FORCE
};

static const struct ctl_option options[] = {
	[OPT_FORCE] = { "force", 'f', NULL, "replace a file that exists" },
	{ NULL },
};

/* Creates the file with the whole line in it, or leaves none. */
static int create_file(const char *path, const char line[KEY_LINE_BYTES])
{
	int err;
	int fd;

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE_KEY);
	if (fd < 0)
		return -errno;
	err = ctl_write_full(fd, line, KEY_LINE_BYTES);
	/* The umask may have taken what the owner needs. */
	if (!err && (fchmod(fd, MODE_KEY) || fsync(fd)))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlink(path);
	return err;
}

/* Readers see the old key or the new one, never a part of either. */
static int replace_file(const char *path, const char line[KEY_LINE_BYTES])
{
	char *beside;
	int err;

	if (asprintf(&beside, "%s.%ld", path, (long)getpid()) < 0)
		return -ENOMEM;
	err = create_file(beside, line);
	if (!err && rename(beside, path)) {
		err = -errno;
		unlink(beside);
	}
	free(beside);
	return err;
}

/*
 * A device or a pipe would be gone, with all that knows it by its name, and so would a
 * link to something. One that leads nowhere is of no use to anybody.
 */
static bool may_replace(const char *path)
{
	struct stat there;

	if (lstat(path, &there))
		return true;
	if (S_ISLNK(there.st_mode))
		return stat(path, &there) && errno == ENOENT;
	return S_ISREG(there.st_mode);
}

/* The folder of the user's configuration need not exist yet. */
static void make_folders(const char *path)
{
	char *folder = strdup(path);
	char *slash;

	for (slash = folder ? strchr(folder + 1, '/') : NULL; slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(folder, MODE_FOLDER);
		*slash = '/';
	}
	free(folder);
}

static int make_file(struct ctl *ctl, const char *path, bool force,
		     const char line[KEY_LINE_BYTES])
{
	int err;

	if (force && !may_replace(path))
		return ctl_fail(ctl, CTL_USAGE, -EINVAL, "name another file",
				"%s: is no regular file", path);
	err = force ? replace_file(path, line) : create_file(path, line);
	if (err == -EEXIST)
		return ctl_fail(ctl, CTL_USAGE, err,
				"--force replaces it, and its key is lost",
				"%s: exists", path);
	if (err)
		return ctl_fail(ctl, CTL_USAGE, err, "name another file",
				"%s: %s", path, strerror(-err));
	return ctl_done(
		ctl, ctl_json_of("key_file", json_object_new_string(path)),
		"%s: a new key; give the brick a copy as the key-file of this client\n",
		path);
}

static int generate_key(struct ctl *ctl, const char *path, bool force)
{
	uint8_t key[KFBRICK_KEY_BYTES];
	char line[KEY_LINE_BYTES];
	int status = CTL_DONE;

	/* So few bytes come whole once the kernel's pool is ready. */
	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return ctl_fail(ctl, CTL_USAGE, -errno, "try again later",
				"random numbers: %s", strerror(errno));
	sodium_bin2hex(line, sizeof(line), key, sizeof(key));
	explicit_bzero(key, sizeof(key));
	line[KEY_LINE_BYTES - 1] = '\n';
	if (!strcmp(path, "-") && ctl->json)
		printf("{\"schema\":%d,\"key\":\"%.*s\"}\n", CTL_JSON_SCHEMA,
		       KEY_LINE_BYTES - 1, line);
	else if (!strcmp(path, "-"))
		fwrite(line, 1, sizeof(line), stdout);
	else
		status = make_file(ctl, path, force, line);
	explicit_bzero(line, sizeof(line));
	return status;
}

static int run_keygen(struct ctl *ctl, const struct ctl_args *args)
{
	bool force = args->options[OPT_FORCE];
	char *path;
	int status;

	if (args->n_words)
		return generate_key(ctl, args->words[0], force);
	path = ctl_user_file("client.key");
	if (!path)
		return ctl_usage(ctl, "no FILE, and no home folder for one");
	make_folders(path);
	status = generate_key(ctl, path, force);
	free(path);
	return status;
}

const struct ctl_command ctl_cmd_keygen = {
	.name = "keygen",
	.synopsis = "[--force] [FILE]",
	.summary = "Makes a key for a client",
	.details =
		"Writes 256 random bits as a line of 64 hexadecimal digits to FILE, which only\n"
		"its owner may read; without FILE to ~/.config/kfbrick/client.key, where the\n"
		"other commands look for it; with - to standard output.\n"
		"\n"
		"Example: brickctl keygen alice.key",
	.options = options,
	.words_more = 1,
	.run = run_keygen,
};
