// SPDX-License-Identifier: BSD-2-Clause
/*
 * Orders to the kernel driver, through its control device.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "initiator/brickctl/disk/attach.h"

#define CONTROL "/dev/kfbrick-control"
#define DEVICE	"/dev/"
#define DISK	"kfbrick"
#define NAMED	"/dev/kfbrick/"

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

static const struct ctl_next attach_nexts[] = {
	{ -EKEYREJECTED, CTL_KEY_NEXT },
	{ -EPERM, CTL_UNTRUSTED_NEXT },
	{ -EACCES,
	  "see the grants of this client in the brick's configuration" },
	{ -EBUSY, "see brickctl list mapped, or brickctl attached" },
	{ -ENOENT,
	  "run brickctl alloc for the range, once, on any of the hosts, then attach or resize again" },
	{ -ENOSPC, "free blocks, attach fewer, or attach with --thin" },
	{ -ECONNREFUSED, CTL_ADDRESS_NEXT },
	{ -EHOSTUNREACH, CTL_ADDRESS_NEXT },
	{ -ETIMEDOUT, CTL_ADDRESS_NEXT },
	{ 0, "dmesg may say more" },
};

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
	return ctl_fail(ctl, attach_status_of(err), err,
			ctl_next_of(attach_nexts, err), "%s: %s", what,
			*why ? why : strerror(-err));
}

int ctl_is_disk(const struct dirent *entry)
{
	return !strncmp(entry->d_name, DISK, strlen(DISK));
}

void ctl_disk_name(const char *disk, char name[CTL_DISK_NAME_BYTES])
{
	ctl_read_line(name, CTL_DISK_NAME_BYTES,
		      CTL_SYS_BLOCK "/%.64s/kfbrick/name", disk);
}

/* The N of kfbrickN, or of N alone; -1: it is neither. */
static long number_of(const char *text)
{
	unsigned long value;
	char *end;

	if (!strncmp(text, DISK, strlen(DISK)))
		text += strlen(DISK);
	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value > INT32_MAX)
		return -1;
	return (long)value;
}

static long number_of_name(const char *wanted)
{
	char name[CTL_DISK_NAME_BYTES];
	struct dirent **found;
	long number = -1;
	int n = scandir(CTL_SYS_BLOCK, &found, ctl_is_disk, versionsort);
	int i;

	for (i = 0; i < n; i++) {
		ctl_disk_name(found[i]->d_name, name);
		if (*name && !strcmp(name, wanted))
			number = number_of(found[i]->d_name);
		free(found[i]);
	}
	if (n >= 0)
		free(found);
	return number;
}

int ctl_disk_number(struct ctl *ctl, const char *text, unsigned int *number)
{
	const char *at = text;
	long value = -1;

	if (!strncmp(at, NAMED, strlen(NAMED))) {
		value = number_of_name(at + strlen(NAMED));
	} else {
		if (!strncmp(at, DEVICE, strlen(DEVICE)))
			at += strlen(DEVICE);
		value = number_of(at);
		if (value < 0 && at == text)
			value = number_of_name(at);
	}
	if (value < 0)
		return ctl_usage(
			ctl,
			"\"%s\" is no disk of the driver: kfbrick0 or "
			"/dev/kfbrick0 is one, and so is the name that "
			"one was attached with",
			text);
	*number = (unsigned int)value;
	return CTL_DONE;
}
