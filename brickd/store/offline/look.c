// SPDX-License-Identifier: BSD-2-Clause
/* A look at a store that somebody may serve: is it there, and is it the one? */
#include "brickd/store/offline/look.h"

#include <errno.h>
#include <fcntl.h>
#include <libpmem2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brickd/media/media.h"
#include "brickd/media/media_say.h"
#include "brickd/store/format/super.h"

/* For reading; libpmem2 knows how large a device is. */
static int map_store(int fd, struct pmem2_map **map)
{
	struct pmem2_config *config;
	struct pmem2_source *source;
	int ret;

	ret = pmem2_source_from_fd(&source, fd);
	if (ret)
		return ret;
	ret = pmem2_config_new(&config);
	if (!ret) {
		ret = pmem2_config_set_required_store_granularity(
			config, PMEM2_GRANULARITY_PAGE);
		if (!ret)
			ret = pmem2_config_set_protection(config,
							  PMEM2_PROT_READ);
		if (!ret)
			ret = pmem2_map_new(map, config, source);
		(void)pmem2_config_delete(&config);
	}
	(void)pmem2_source_delete(&source);
	return ret;
}

static int look_at_super(const char *path, int fd, const uint8_t *expect_uuid,
			 char *err, size_t err_len)
{
	struct brick_media m = { .path = (char *)path };
	struct pmem2_map *map;
	struct brick_super sb;
	bool damaged;
	int ret;

	if (map_store(fd, &map)) {
		brick_media_say(err, err_len, "%s: cannot map: %s", path,
				pmem2_errormsg());
		return -ENOTSUP;
	}
	m.base = pmem2_map_get_address(map);
	m.size = pmem2_map_get_size(map);
	ret = brick_super_read(&m, &sb, &damaged, err, err_len);
	(void)pmem2_map_delete(&map);
	if (!ret && expect_uuid &&
	    memcmp(expect_uuid, sb.uuid, sizeof(sb.uuid)) != 0) {
		brick_media_say(err, err_len,
				"%s: another store than the configured uuid "
				"names",
				path);
		ret = -EINVAL;
	}
	return ret;
}

/* What it reads must not look like what a brickd has left. */
static int look_at_file(const char *path, int fd, const uint8_t *expect_uuid,
			char *err, size_t err_len)
{
	char *mark = realpath(path, NULL);
	bool was_cached;
	int ret;

	if (!mark)
		return -errno;
	was_cached = brick_media_was_cached(fd, mark);
	ret = look_at_super(path, fd, expect_uuid, err, err_len);
	if (!was_cached)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	free(mark);
	return ret;
}

int brick_store_look(const char *path, const uint8_t *expect_uuid, char *err,
		     size_t err_len)
{
	struct stat st;
	int fd, ret;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		ret = -errno;
		brick_media_say(err, err_len,
				ret == -ENOENT
					? "%s: does not exist; brickd format "
					  "makes a store"
					: "%s: cannot open: %s",
				path, strerror(-ret));
		return ret;
	}
	ret = fstat(fd, &st) ? -errno : 0;
	if (!ret && !S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode)) {
		ret = -ENOTSUP;
		brick_media_say(err, err_len,
				"%s: neither a file nor a devdax device", path);
	}
	if (!ret && S_ISREG(st.st_mode) && !st.st_size) {
		ret = -EINVAL;
		brick_media_say(err, err_len,
				"%s: is empty; brickd format makes a store",
				path);
	}
	if (!ret && S_ISREG(st.st_mode))
		ret = look_at_file(path, fd, expect_uuid, err, err_len);
	else if (!ret)
		ret = look_at_super(path, fd, expect_uuid, err, err_len);
	(void)close(fd);
	return ret;
}

int brick_slow_look_at_path(const char *path, char *err, size_t err_len)
{
	struct stat st;
	int ret;

	if (stat(path, &st)) {
		ret = -errno;
		brick_media_say(err, err_len, "slow tier %s: %s", path,
				strerror(-ret));
		return ret;
	}
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))
		return 0;
	brick_media_say(err, err_len,
			"%s: a slow tier is a file or a block device", path);
	return -ENOTSUP;
}
