// SPDX-License-Identifier: BSD-2-Clause
/*
 * Has the kernel take a page for poisoned: poison-page FILE OFFSET
 *
 * What it does after a machine check: everybody who has the page mapped gets
 * SIGBUS, this program as well. Takes root, and a machine of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	  4096U
#define PIECE	  (UINT64_C(2) << 20) /* what devdax maps at a time */
#define MADV_FAIL 100 /* MADV_HWPOISON, which libc hides */

/* It was to be expected. */
static void on_sigbus(int sig)
{
	(void)sig;
	_exit(0);
}

static int poison(int fd, uint64_t off)
{
	volatile uint8_t *at;
	void *map;
	int ret;

	map = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   (off_t)(off / PIECE * PIECE));
	if (map == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	at = (uint8_t *)map + off % PIECE / PAGE * PAGE;
	(void)*at;
	ret = madvise((void *)(uintptr_t)at, PAGE, MADV_FAIL);
	if (ret)
		perror("madvise");
	(void)munmap(map, PIECE);
	return ret != 0;
}

int main(int argc, char **argv)
{
	int fd, ret;

	if (argc != 3)
		return 2;
	(void)signal(SIGBUS, on_sigbus);
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	ret = poison(fd, strtoull(argv[2], NULL, 0));
	(void)close(fd);
	return ret;
}
