// SPDX-License-Identifier: BSD-2-Clause
/*
 * Client keys and the files they live in.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define DIGITS (2 * KFBRICK_KEY_BYTES)

/* A file that others may read or write holds no secret. */
static int check_key_file(const char *path, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return kfbl_fail(NULL, -errno, "key file %s: %s", path,
				 strerror(errno));
	if (!S_ISREG(st.st_mode))
		return kfbl_fail(NULL, -EINVAL,
				 "key file %s: not a regular file", path);
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return kfbl_fail(
			NULL, -EPERM,
			"key file %s: others than its owner have "
			"access, it must have mode 0600; chmod 600 it, "
			"or make a new key if this one was exposed",
			path);
	return 0;
}

static int read_key_digits(const char *path, int fd,
			   uint8_t key[KFBRICK_KEY_BYTES])
{
	char text[DIGITS + 2]; /* one newline, and one byte too many */
	uint8_t parsed[KFBRICK_KEY_BYTES];
	ssize_t len = 0;
	ssize_t n;
	int rc = 0;

	do {
		n = read(fd, text + len, sizeof(text) - (size_t)len);
		if (n > 0)
			len += n;
	} while (n > 0 && len < (ssize_t)sizeof(text));
	if (n < 0)
		return kfbl_fail(NULL, -errno, "key file %s: %s", path,
				 strerror(errno));
	if (len == DIGITS + 1 && text[DIGITS] == '\n')
		len--;
	if (len != DIGITS || sodium_hex2bin(parsed, sizeof(parsed), text,
					    DIGITS, NULL, NULL, NULL))
		rc = kfbl_fail(NULL, -EINVAL,
			       "key file %s: not a line of 64 hexadecimal "
			       "digits; brickctl keygen makes one",
			       path);
	else
		memcpy(key, parsed, sizeof(parsed));
	sodium_memzero(parsed, sizeof(parsed));
	sodium_memzero(text, sizeof(text));
	return rc;
}

int kfbrick_key_read(const char *path, uint8_t key[KFBRICK_KEY_BYTES])
{
	int fd, rc;

	/* Opening a fifo must not wait for a writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return kfbl_fail(NULL, -errno, "key file %s: %s", path,
				 strerror(errno));
	rc = check_key_file(path, fd);
	if (!rc)
		rc = read_key_digits(path, fd, key);
	close(fd);
	return rc;
}
