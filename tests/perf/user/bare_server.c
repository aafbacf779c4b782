// SPDX-License-Identifier: BSD-2-Clause
/*
 * The passive side of the bare loop: a process that has a file mapped and
 * registered, and answers each message that names a range when that range is
 * flushed.
 *
 * The file is mapped as brickd maps its store, by libpmem2, and flushed by the
 * functions that brickd uses; PMEM2_FORCE_GRANULARITY makes it look like
 * persistent memory.
 */
#include <fcntl.h>
#include <libpmem2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bare.h"
#include "samples.h"

static struct pmem2_map *map_file(const char *path)
{
	struct pmem2_source *source;
	struct pmem2_config *config;
	struct pmem2_map *map;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || posix_fallocate(fd, 0, AREA_BYTES) ||
	    pmem2_source_from_fd(&source, fd) || pmem2_config_new(&config) ||
	    pmem2_config_set_required_store_granularity(
		    config, PMEM2_GRANULARITY_PAGE) ||
	    pmem2_map_new(&map, config, source)) {
		fprintf(stderr, "bare loop: %s: %s\n", path, pmem2_errormsg());
		_exit(1);
	}
	return map;
}

static void serve(struct bare *b, const char *path)
{
	struct pmem2_map *map = map_file(path);
	pmem2_persist_fn persist = pmem2_get_persist_fn(map);
	uint8_t *base = pmem2_map_get_address(map);
	struct fi_context receive, send;
	struct fi_cq_msg_entry entry;
	uint8_t message[BARE_MESSAGE_BYTES];
	struct bare_flush flush;
	struct bare_area area;
	struct fid_mr *mr;

	memset(base, 1, AREA_BYTES);
	bare_accept(b);
	BARE_TRY(fi_mr_reg(b->domain, base, AREA_BYTES,
			   FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &mr,
			   NULL));
	area.addr = b->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR
			    ? (uintptr_t)base
			    : 0;
	area.key = fi_mr_key(mr);
	BARE_TRY(fi_recv(b->ep, message, sizeof(message), NULL, 0, &receive));
	BARE_TRY(fi_send(b->ep, &area, sizeof(area), NULL, 0, &send));
	while (bare_wait(b, &entry)) {
		if (entry.op_context != &receive)
			continue;
		memcpy(&flush, message, sizeof(flush));
		if (flush.at > AREA_BYTES || flush.len > AREA_BYTES - flush.at)
			break;
		persist(base + flush.at, flush.len);
		BARE_TRY(fi_recv(b->ep, message, sizeof(message), NULL, 0,
				 &receive));
		BARE_TRY(fi_send(b->ep, &flush, sizeof(flush), NULL, 0, &send));
	}
	fi_close(&mr->fid);
}

static void run(int to, const char *path)
{
	struct bare b = { 0 };
	size_t len;
	void *address = bare_listen(&b, &len);

	if (write(to, address, len) != (ssize_t)len)
		_exit(1);
	close(to);
	free(address);
	serve(&b, path);
	bare_close(&b);
	_exit(0);
}

pid_t bare_start(const char *path, const char *cpu, void *address, size_t *len)
{
	int ends[2];
	ssize_t n;
	pid_t child;

	if (pipe(ends))
		return -1;
	child = fork();
	if (!child) {
		close(ends[0]);
		stay_on(cpu);
		run(ends[1], path);
	}
	close(ends[1]);
	/* It makes its address known through the pipe. */
	n = read(ends[0], address, BARE_ADDRESS_BYTES);
	close(ends[0]);
	if (child < 0 || n <= 0)
		return -1;
	*len = (size_t)n;
	return child;
}
