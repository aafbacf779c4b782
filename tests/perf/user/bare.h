/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection of libfabric's tcp provider and nothing more, for the loop that
 * libkfbrick and brickd are measured against. Any failure ends the process.
 */
#ifndef TESTS_PERF_USER_BARE_H
#define TESTS_PERF_USER_BARE_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BARE_MESSAGE_BYTES 64
#define BARE_ADDRESS_BYTES 64

struct bare {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fid_pep *pep; /* of the server */
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_ep *ep;
	size_t cq_size; /* 0: the provider's default */
	int cq_fd;
};

/* What the server tells of its memory. */
struct bare_area {
	uint64_t addr;
	uint64_t key;
};

/* The message that asks for a flush, and its answer. */
struct bare_flush {
	uint64_t at;
	uint64_t len;
};

void bare_die(const char *what, long rc) __attribute__((noreturn));
#define BARE_TRY(call)                        \
	do {                                  \
		long rc_ = (call);            \
		if (rc_ < 0)                  \
			bare_die(#call, rc_); \
	} while (0)

/*
 * Starts the passive side, on a processor or anywhere (NULL); *address has room
 * for BARE_ADDRESS_BYTES. Return: its process, or -1. It ends with the
 * connection.
 */
pid_t bare_start(const char *path, const char *cpu, void *address, size_t *len);

/* Return: the address that it listens on, of *len bytes, for free(). */
void *bare_listen(struct bare *b, size_t *len);
void bare_accept(struct bare *b);
void bare_connect(struct bare *b, const void *address, size_t len);
/* Waits for one completion, sleeping: 1, or 0 when the peer is gone. */
int bare_wait(struct bare *b, struct fi_cq_msg_entry *entry);
void bare_close(struct bare *b);

#endif
