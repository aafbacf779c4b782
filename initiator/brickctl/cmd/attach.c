// SPDX-License-Identifier: BSD-2-Clause
/*
 * Orders to the kernel driver, through its control device.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "initiator/brickctl/cmd/attach.h"

#define CONTROL "/dev/kfbrick-control"
#define DEVICE	"/dev/"
#define DISK	"kfbrick"

/* What a failed order means for the exit status, and what may help. */
static int attach_status_of(int err)
{
	switch (err) {
	case -EINVAL:
	case -ENOKEY:
	case -ENODEV:
	case -ENOMEM:
	case -EPERM:
		return CTL_USAGE;
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -EHOSTUNREACH:
	case -EKEYREJECTED:
	case -ENODATA:
	case -ETIMEDOUT:
		return CTL_UNREACHED;
	default:
		return CTL_REFUSED;
	}
}

static const char *attach_next_of(int err)
{
	switch (err) {
	case -EKEYREJECTED:
		return "see that --client and its key are those of the brick's configuration; the brick's log says which is wrong";
	case -EACCES:
		return "see the grants of this client in the brick's configuration";
	case -EBUSY:
		return "see brickctl list mapped, or brickctl attached";
	case -ENOSPC:
		return "free blocks, attach fewer, or attach with --thin";
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
	case -ETIMEDOUT:
		return "see that the brick runs and that this is its address";
	default:
		return "dmesg may say more";
	}
}

void ctl_load_driver(void)
{
	char modprobe[] = "/sbin/modprobe";
	char quiet[] = "-q";
	char driver[] = "kfbrick";
	char *words[] = { modprobe, quiet, driver, NULL };
	char *environment[] = { NULL };
	pid_t pid;

	if (!access(CONTROL, F_OK) || geteuid() != 0)
		return;
	if (posix_spawn(&pid, modprobe, NULL, NULL, words, environment))
		return;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

int ctl_control(struct ctl *ctl, const char *what, const char *order,
		char answer[CTL_ANSWER_BYTES])
{
	static const char error[] = "error=";
	int fd = open(CONTROL, O_RDWR | O_CLOEXEC);
	const char *next = "run it as root";
	const char *why = answer;
	int err = 0;
	ssize_t n;

	if (fd < 0) {
		err = -errno;
		if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
			next = "try again when there is more of it";
		else if (err == -ENOENT || err == -ENODEV || err == -ENXIO)
			next = "run modprobe kfbrick, or install the modules";
		return ctl_fail(ctl, CTL_USAGE, err, next,
				"the kernel driver's " CONTROL ": %s",
				strerror(-err));
	}
	if (write(fd, order, strlen(order)) < 0)
		err = -errno;
	n = read(fd, answer, CTL_ANSWER_BYTES - 1);
	close(fd);
	answer[n > 0 ? n : 0] = '\0';
	answer[strcspn(answer, "\n")] = '\0';
	if (!err)
		return CTL_DONE;
	if (!strncmp(why, error, strlen(error)))
		why += strlen(error);
	return ctl_fail(ctl, attach_status_of(err), err, attach_next_of(err),
			"%s: %s", what, *why ? why : strerror(-err));
}

int ctl_disk_number(struct ctl *ctl, const char *text, unsigned int *number)
{
	const char *at = text;
	unsigned long value;
	char *end;

	if (!strncmp(at, DEVICE, strlen(DEVICE)))
		at += strlen(DEVICE);
	if (!strncmp(at, DISK, strlen(DISK)))
		at += strlen(DISK);
	errno = 0;
	value = strtoul(at, &end, 10);
	if (*at < '0' || *at > '9' || *end || errno || value > INT32_MAX)
		return ctl_usage(ctl,
				 "\"%s\" is no disk of the driver: "
				 "kfbrick0 or /dev/kfbrick0 is one",
				 text);
	*number = (unsigned int)value;
	return CTL_DONE;
}
