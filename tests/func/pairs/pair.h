/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a pair of programs that try a provider of libfabric: what a case
 * is, and what cases are made of. Whatever goes wrong ends the program with
 * status 1 and a sentence; a case that fi_getinfo() refuses ends it with
 * PAIR_REFUSED.
 */
#ifndef PAIR_H
#define PAIR_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define PAIR_REFUSED	 77
#define PAIR_DEADLINE_MS 60000
#define PAIR_BYTES	 (2U << 20) /* of memory, half of it each way */
#define PAIR_HALF	 (PAIR_BYTES / 2)
#define PAIR_EPS_MAX	 4
#define PAIR_CONTEXTS	 256

/* Ends the program; @rc is a negative errno, or 0. */
_Noreturn void pair_die(long rc, const char *what);
#define MUST(call)                            \
	do {                                  \
		long rc_ = (long)(call);      \
		if (rc_ < 0)                  \
			pair_die(rc_, #call); \
	} while (0)
#define EXPECT(condition)                               \
	do {                                            \
		if (!(condition))                       \
			pair_die(0, "not " #condition); \
	} while (0)

struct pair_case {
	const char *name;
	enum fi_ep_type type;
	uint64_t caps;
	/* What else is asked for; may be NULL. */
	void (*hints)(struct fi_info *hints);
	/* Both ends run it, once they are connected. */
	void (*run)(void);
	/* Instead of run(): makes its own connections. */
	void (*whole)(void);
	/* Of queues and endpoints. */
	uint64_t bind_flags;
	enum fi_wait_obj wait_obj;
	bool counters;
};

/* One end; there is one in a program. */
struct pair_end {
	const struct pair_case *test;
	bool serves;
	const char *provider;
	struct sockaddr_storage there; /* the client's: whom to connect to */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_cq *tx_cq;
	struct fid_cq *rx_cq;
	struct fid_cntr *tx_cntr;
	struct fid_cntr *rx_cntr;
	struct fid_mr *mr;
	fi_addr_t peer;
	uint8_t *out;
	uint8_t *in;
	struct fi_context2 contexts[PAIR_CONTEXTS];
	struct fi_rma_iov remote;
};
extern struct pair_end end;

uint64_t pair_now_ms(void);
void pair_fill(uint8_t *to, size_t len, unsigned int seed);
void pair_check(const uint8_t *from, size_t len, unsigned int seed);

/* open.c: hints of the case; getinfo, or the end with PAIR_REFUSED. */
struct fi_info *pair_hints(void);
struct fi_info *pair_getinfo(void);
void pair_open_domain(void);
void pair_open_endpoint(struct fi_info *info, struct fid_ep **ep);
/* The case's usual connection, with both ends ready. */
void pair_connect(void);
/* Says where the server is, on standard output. */
void pair_say_name(const struct fid *fid);
void pair_listen(void);
/* The next event, which is of this kind. */
void pair_event(uint32_t kind, struct fi_eq_cm_entry *entry, size_t room);
/* Both ends have come here; then both leave. */
void pair_meet(void);
void pair_finish(void);

/* move.c */
void *pair_context(unsigned int i);
void *pair_desc(void);
void pair_recv(void *to, size_t len, unsigned int context);
void pair_send(const void *from, size_t len, unsigned int context);
/* One completion; of a failed operation with its error. */
struct fi_cq_err_entry pair_completion(struct fid_cq *cq);
/* One that must be good. */
struct fi_cq_err_entry pair_done(struct fid_cq *cq);
void pair_none(struct fid_cq *cq, unsigned int ms);
/* There and back again, with data that are looked at. */
void pair_ping(size_t len, unsigned int seed);
/* Tells each other where memory is: end.remote. */
void pair_exchange_memory(void);

/* Tables of cases; each ends with a name that is NULL. */
extern const struct pair_case pair_msg_cases[];
extern const struct pair_case pair_flag_cases[];
extern const struct pair_case pair_rma_cases[];
extern const struct pair_case pair_rdm_cases[];

#endif
