// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fuzzes what brickctl reads from its user: the configuration file, and
 * numbers and ranges in their text form.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "initiator/brickctl/base/brickctl.h"
#include "kfb_text.h"

#define WHY_BYTES      256
#define TEXT_MAX_BYTES 128
#define BLOCK_SHIFT    21
#define SPACE_BLOCKS   (1ULL << (64 - BLOCK_SHIFT))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

static void read_text(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX_BYTES + 1] = "";
	unsigned int error_at = 0;
	__u64 n_blocks;
	__u64 value;
	__u64 va;

	memcpy(text, data, size < TEXT_MAX_BYTES ? size : TEXT_MAX_BYTES);
	if (kfb_size_parse(text, &value, &error_at))
		check(error_at <= strlen(text));
	if (kfb_range_parse(text, &va, &n_blocks, &error_at)) {
		check(error_at <= strlen(text));
		return;
	}
	check(!(va & ((1ULL << BLOCK_SHIFT) - 1)));
	check(n_blocks && n_blocks <= SPACE_BLOCKS - (va >> BLOCK_SHIFT));
}

static void read_config(const uint8_t *data, size_t size)
{
	struct ctl_settings settings = { 0 };
	char why[WHY_BYTES] = "";
	char path[64];
	int err;
	int fd;

	fd = memfd_create("conf", MFD_CLOEXEC);
	check(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = ctl_config_read(path, &settings, why, sizeof(why));
	check(!err == !*why);
	free(settings.brick);
	free(settings.fabric);
	free(settings.client);
	free(settings.key_file);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_text(data, size);
	read_config(data, size);
	return 0;
}
