// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the same operations cost with libfabric's tcp provider alone:
 * bare-loop FILE SECONDS
 *
 * A durable 4 KiB write is a one-sided write with delivery, then a message that
 * names the range; the other process writes the range back and answers. 2 MiB
 * writes are one-sided, some under way at a time. FILE is mapped as brickd maps
 * its store; PMEM2_FORCE_GRANULARITY makes it look like persistent memory.
 */
#include <fcntl.h>
#include <libpmem2.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_rma.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bare.h"
#include "samples.h"

struct flush {
	uint64_t at;
	uint64_t len;
};

struct client {
	struct bare b;
	struct bare_area remote;
	uint8_t *buffer; /* LARGE_DEPTH large pieces */
	uint8_t answer[BARE_MESSAGE_BYTES];
	struct fi_context contexts[LARGE_DEPTH];
	struct fi_context receive_context;
	struct fi_context send_context;
};

static struct samples samples;

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
		fprintf(stderr, "bare-loop: %s: %s\n", path, pmem2_errormsg());
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
	struct bare_area area;
	struct fid_mr *mr;
	struct flush flush;

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

static void wait_for(struct client *c, const void *context)
{
	struct fi_cq_msg_entry entry;

	do {
		if (!bare_wait(&c->b, &entry))
			bare_die("waiting", -FI_ECONNRESET);
	} while (entry.op_context != context);
}

static void post_receive(struct client *c)
{
	BARE_TRY(fi_recv(c->b.ep, c->answer, sizeof(c->answer), NULL, 0,
			 &c->receive_context));
}

static void post_write(struct client *c, unsigned int slot, uint64_t at,
		       size_t len)
{
	struct iovec iov = { c->buffer + (size_t)slot * LARGE_BYTES, len };
	struct fi_rma_iov rma = { c->remote.addr + at, len, c->remote.key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = &c->contexts[slot],
	};

	BARE_TRY(fi_writemsg(c->b.ep, &msg,
			     FI_COMPLETION | FI_DELIVERY_COMPLETE));
}

static void run_durable(struct client *c, uint64_t for_ns)
{
	struct flush flush = { 0, SMALL_BYTES };
	uint64_t begin = now_ns();

	while (now_ns() - begin < for_ns) {
		uint64_t start = now_ns();

		post_write(c, 0, flush.at, SMALL_BYTES);
		wait_for(c, &c->contexts[0]);
		BARE_TRY(fi_send(c->b.ep, &flush, sizeof(flush), NULL, 0,
				 &c->send_context));
		wait_for(c, &c->receive_context);
		samples_add(&samples, now_ns() - start);
		post_receive(c);
		flush.at = (flush.at + SMALL_BYTES) % AREA_BYTES;
	}
}

static uint64_t run_large(struct client *c, uint64_t for_ns,
			  uint64_t *elapsed_ns)
{
	struct fi_cq_msg_entry entry;
	uint64_t begin = now_ns();
	unsigned int slot, busy;
	uint64_t bytes = 0;
	uint64_t at = 0;

	for (slot = 0; slot < LARGE_DEPTH; slot++, at += LARGE_BYTES)
		post_write(c, slot, at, LARGE_BYTES);
	for (busy = LARGE_DEPTH; busy;) {
		if (!bare_wait(&c->b, &entry))
			bare_die("waiting", -FI_ECONNRESET);
		slot = (unsigned int)((struct fi_context *)entry.op_context -
				      c->contexts);
		if (slot >= LARGE_DEPTH)
			continue;
		bytes += LARGE_BYTES;
		*elapsed_ns = now_ns() - begin;
		if (*elapsed_ns >= for_ns) {
			busy--;
			continue;
		}
		post_write(c, slot, at % AREA_BYTES, LARGE_BYTES);
		at += LARGE_BYTES;
	}
	return bytes;
}

static void run_client(const void *address, size_t len, uint64_t for_ns)
{
	static struct client c;
	uint64_t elapsed_ns = 1;
	uint64_t bytes;

	c.buffer = aligned_alloc(4096, (size_t)LARGE_DEPTH * LARGE_BYTES);
	if (!c.buffer)
		bare_die("memory", -FI_ENOMEM);
	memset(c.buffer, 1, (size_t)LARGE_DEPTH * LARGE_BYTES);
	bare_connect(&c.b, address, len);
	post_receive(&c);
	wait_for(&c, &c.receive_context);
	memcpy(&c.remote, c.answer, sizeof(c.remote));
	post_receive(&c);
	run_durable(&c, for_ns);
	bytes = run_large(&c, for_ns, &elapsed_ns);
	samples_print(&samples, bytes, elapsed_ns);
	fflush(stdout);
	fi_shutdown(c.b.ep, 0);
	bare_close(&c.b);
	free(c.buffer);
}

/* The server makes its address known through a pipe. */
static void run_server(int to, const char *path)
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

int main(int argc, char **argv)
{
	uint64_t for_ns =
		argc == 3 ? strtoull(argv[2], NULL, 10) * NS_PER_S : 0;
	uint8_t address[64];
	int ends[2];
	pid_t child;
	ssize_t len;

	if (!for_ns || pipe(ends)) {
		fprintf(stderr, "usage: %s FILE SECONDS\n", argv[0]);
		return 2;
	}
	child = fork();
	if (!child) {
		close(ends[0]);
		run_server(ends[1], argv[1]);
	}
	close(ends[1]);
	len = read(ends[0], address, sizeof(address));
	if (child < 0 || len <= 0) {
		fprintf(stderr, "bare-loop: no server\n");
		return 1;
	}
	run_client(address, (size_t)len, for_ns);
	waitpid(child, NULL, 0);
	return 0;
}
