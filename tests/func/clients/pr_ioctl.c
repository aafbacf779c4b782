// SPDX-License-Identifier: BSD-2-Clause
/*
 * The block layer's ioctls for persistent reservations, for guests:
 *
 *	pr-ioctl DISK register OLD NEW
 *	pr-ioctl DISK register-ignore NEW
 *	pr-ioctl DISK reserve|release KEY TYPE
 *	pr-ioctl DISK preempt|preempt-abort KEY VICTIM TYPE
 *	pr-ioctl DISK clear KEY
 *
 * Ends with 0, 24 for a conflict as SCSI numbers it, or 1 with the errno in words.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/pr.h>

#define WORDS_MAX 3

static int change_key(int fd, const unsigned long long *n, __u32 flags)
{
	struct pr_registration r = { .old_key = flags ? 0 : n[0],
				     .new_key = flags ? n[0] : n[1],
				     .flags = flags };

	return ioctl(fd, IOC_PR_REGISTER, &r);
}

static int change_reservation(int fd, const unsigned long long *n,
			      unsigned long order)
{
	struct pr_reservation r = { .key = n[0], .type = (__u32)n[1] };

	return ioctl(fd, order, &r);
}

static int preempt(int fd, const unsigned long long *n, unsigned long order)
{
	struct pr_preempt p = { .old_key = n[0],
				.new_key = n[1],
				.type = (__u32)n[2] };

	return ioctl(fd, order, &p);
}

static int clear(int fd, const unsigned long long *n)
{
	struct pr_clear c = { .key = n[0] };

	return ioctl(fd, IOC_PR_CLEAR, &c);
}

static int act(int fd, const char *word, const unsigned long long *n)
{
	if (!strcmp(word, "register"))
		return change_key(fd, n, 0);
	if (!strcmp(word, "register-ignore"))
		return change_key(fd, n, PR_FL_IGNORE_KEY);
	if (!strcmp(word, "reserve"))
		return change_reservation(fd, n, IOC_PR_RESERVE);
	if (!strcmp(word, "release"))
		return change_reservation(fd, n, IOC_PR_RELEASE);
	if (!strcmp(word, "preempt"))
		return preempt(fd, n, IOC_PR_PREEMPT);
	if (!strcmp(word, "preempt-abort"))
		return preempt(fd, n, IOC_PR_PREEMPT_ABORT);
	if (!strcmp(word, "clear"))
		return clear(fd, n);
	errno = EINVAL;
	return -1;
}

int main(int argc, char **argv)
{
	unsigned long long n[WORDS_MAX] = { 0 };
	int fd, ret;

	if (argc < 3 || argc > 3 + WORDS_MAX) {
		fprintf(stderr, "see pr_ioctl.c\n");
		return 2;
	}
	for (int i = 3; i < argc; i++)
		n[i - 3] = strtoull(argv[i], NULL, 0);
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	ret = act(fd, argv[2], n);
	if (ret < 0)
		perror(argv[2]);
	close(fd);
	return ret < 0 ? 1 : ret;
}
