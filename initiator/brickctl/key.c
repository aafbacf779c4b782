// SPDX-License-Identifier: BSD-2-Clause
/*
 * Client keys and the files they live in.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "initiator/brickctl/brickctl.h"
#include "kfb_text.h"

#define DIGITS (2 * KFBRICK_KEY_BYTES)

static int parse_key(const char *text, uint8_t key[KFBRICK_KEY_BYTES])
{
	uint8_t parsed[KFBRICK_KEY_BYTES];
	unsigned int i;
	int high;
	int low;

	for (i = 0; i < KFBRICK_KEY_BYTES; i++) {
		high = kfb_digit_value(text[2 * i], 16);
		low = kfb_digit_value(text[2 * i + 1], 16);
		if (high < 0 || low < 0)
			return -EINVAL;
		parsed[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(key, parsed, sizeof(parsed));
	explicit_bzero(parsed, sizeof(parsed));
	return 0;
}

/* A file that others may read or write holds no secret. */
static int check_file(int fd, const char **why)
{
	struct stat st;

	if (fstat(fd, &st)) {
		*why = strerror(errno);
		return -errno;
	}
	if (!S_ISREG(st.st_mode)) {
		*why = "not a regular file";
		return -EINVAL;
	}
	if (st.st_mode & (S_IRWXG | S_IRWXO)) {
		*why = "others than its owner have access, it must have mode 0600: chmod 600 it, or make a new key if this one was exposed";
		return -EPERM;
	}
	return 0;
}

static int read_digits(int fd, uint8_t key[KFBRICK_KEY_BYTES], const char **why)
{
	char text[DIGITS + 2]; /* one newline, and one byte too many */
	ssize_t len = 0;
	ssize_t n;
	int err;

	do {
		n = read(fd, text + len, sizeof(text) - (size_t)len);
		if (n > 0)
			len += n;
	} while (n > 0 && len < (ssize_t)sizeof(text));
	if (n < 0) {
		*why = strerror(errno);
		return -errno;
	}
	err = -EINVAL;
	if (len == DIGITS || (len == DIGITS + 1 && text[DIGITS] == '\n'))
		err = parse_key(text, key);
	if (err)
		*why = "not a line of 64 hexadecimal digits; brickctl keygen makes one";
	explicit_bzero(text, sizeof(text));
	return err;
}

int ctl_key_read(const char *path, uint8_t key[KFBRICK_KEY_BYTES],
		 const char **why)
{
	int err;
	int fd;

	/* Opening a fifo must not wait for a writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		*why = strerror(errno);
		return -errno;
	}
	err = check_file(fd, why);
	if (!err)
		err = read_digits(fd, key, why);
	close(fd);
	return err;
}

void ctl_key_text(const uint8_t key[KFBRICK_KEY_BYTES],
		  char text[CTL_KEY_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	unsigned int i;

	for (i = 0; i < KFBRICK_KEY_BYTES; i++) {
		text[2 * i] = digits[key[i] >> 4];
		text[2 * i + 1] = digits[key[i] & 0xf];
	}
	text[2 * i] = '\0';
}
