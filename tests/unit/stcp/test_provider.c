// SPDX-License-Identifier: BSD-2-Clause
/*
 * stcp as a provider like another: what it says that it does, that it does; for
 * the rest there is an errno. libfabric's own tcp is beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_tagged.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "kfabric/user/impl.h"
#include "raw.h"
#include "stcp.h"

#define CTX(n)	((void *)(uintptr_t)(n))
#define VERSION FI_VERSION(1, 17)
#define A_WHILE 50 /* ms in which nothing is to happen */

/* All tables begin with their size, and are pointers from there on. */
static void has_all_of(const char *what, const void *stock, const void *ours)
{
	size_t stock_bytes, our_bytes;

	if (!stock)
		return;
	if (!ours) {
		fail_msg("no %s", what);
		return; /* for who does not know that it does not return */
	}
	memcpy(&stock_bytes, stock, sizeof(size_t));
	memcpy(&our_bytes, ours, sizeof(size_t));
	assert_true(our_bytes >= stock_bytes);
	for (size_t at = sizeof(size_t); at < stock_bytes;
	     at += sizeof(void *)) {
		void *a, *b;

		memcpy(&a, (const uint8_t *)stock + at, sizeof(a));
		memcpy(&b, (const uint8_t *)ours + at, sizeof(b));
		if (a && !b)
			fail_msg("%s lacks entry %zu", what,
				 at / sizeof(void *));
	}
}

static void endpoint_has_all_of(const char *what, const struct fid_ep *stock,
				const struct fid_ep *ours)
{
	has_all_of(what, stock->fid.ops, ours->fid.ops);
	has_all_of(what, stock->ops, ours->ops);
	has_all_of(what, stock->cm, ours->cm);
	has_all_of(what, stock->msg, ours->msg);
	has_all_of(what, stock->rma, ours->rma);
	has_all_of(what, stock->tagged, ours->tagged);
	has_all_of(what, stock->atomic, ours->atomic);
	has_all_of(what, stock->collective, ours->collective);
}

static void each_table_has_what_stock_has(void **state)
{
	struct fi_rx_attr attr = { 0 };
	struct rig *a = rig_open(false, false), *b = rig_open(true, true);
	struct side *stock = &a->client, *ours = &b->client;
	struct fid_ep *stock_srx, *our_srx;

	rig_endpoint(stock, stock->info);
	rig_endpoint(ours, ours->info);
	has_all_of("fabric", stock->fabric->fid.ops, ours->fabric->fid.ops);
	has_all_of("fabric", stock->fabric->ops, ours->fabric->ops);
	has_all_of("eq", stock->eq->fid.ops, ours->eq->fid.ops);
	has_all_of("eq", stock->eq->ops, ours->eq->ops);
	has_all_of("domain", stock->domain->fid.ops, ours->domain->fid.ops);
	has_all_of("domain", stock->domain->ops, ours->domain->ops);
	has_all_of("domain mr", stock->domain->mr, ours->domain->mr);
	has_all_of("cq", stock->cq->fid.ops, ours->cq->fid.ops);
	has_all_of("cq", stock->cq->ops, ours->cq->ops);
	has_all_of("mr", stock->mr->fid.ops, ours->mr->fid.ops);
	endpoint_has_all_of("endpoint", stock->ep, ours->ep);
	has_all_of("passive", a->server.pep->fid.ops, b->server.pep->fid.ops);
	has_all_of("passive", a->server.pep->ops, b->server.pep->ops);
	has_all_of("passive", a->server.pep->cm, b->server.pep->cm);
	assert_int_equal(fi_srx_context(stock->domain, &attr, &stock_srx, NULL),
			 0);
	assert_int_equal(fi_srx_context(ours->domain, &attr, &our_srx, NULL),
			 0);
	endpoint_has_all_of("shared receives", stock_srx, our_srx);
	fi_close(&stock_srx->fid);
	fi_close(&our_srx->fid);
	rig_close(a);
	rig_close(b);
}

static void what_is_not_done_says_so(void **state)
{
	struct rig *rig = rig_open(true, true);
	struct side *side = &rig->client;
	size_t size = 0, len = sizeof(size);
	struct fid_pep *pep = rig->server.pep;
	void *ops;

	rig_endpoint(side, side->info);
	assert_int_equal(fi_getopt(&pep->fid, FI_OPT_ENDPOINT,
				   FI_OPT_CM_DATA_SIZE, &size, &len),
			 0);
	assert_int_equal(size, 256);
	len = 1;
	assert_int_equal(fi_getopt(&pep->fid, FI_OPT_ENDPOINT,
				   FI_OPT_CM_DATA_SIZE, &size, &len),
			 -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(size));
	assert_int_equal(fi_setopt(&pep->fid, FI_OPT_ENDPOINT,
				   FI_OPT_CM_DATA_SIZE, &size, sizeof(size)),
			 -FI_ENOPROTOOPT);
	assert_int_equal(fi_control(&pep->fid, FI_BACKLOG, &size), -FI_ENOSYS);
	assert_int_equal(fi_control(&side->fabric->fid, FI_GETWAIT, &size),
			 -FI_ENOSYS);
	assert_int_equal(fi_control(&side->domain->fid, FI_GETWAIT, &size),
			 -FI_ENOSYS);
	assert_int_equal(fi_open_ops(&side->fabric->fid, "none", 0, &ops, NULL),
			 -FI_ENOSYS);
	assert_int_equal(fi_domain_bind(side->domain, &side->eq->fid, 0),
			 -FI_ENOSYS);
	assert_int_equal(fi_mr_bind(side->mr, &side->ep->fid, 0), -FI_ENOSYS);
	assert_int_equal(fi_mr_enable(side->mr), -FI_ENOSYS);
	assert_int_equal(fi_mr_refresh(side->mr, NULL, 0, 0), -FI_ENOSYS);
	assert_int_equal(fi_mr_raw_attr(side->mr, NULL, NULL, NULL, 0),
			 -FI_ENOSYS);
	/* What fi_tx_size_left() and the other call, which are deprecated. */
	assert_int_equal(side->ep->ops->tx_size_left(side->ep), -FI_ENOSYS);
	assert_int_equal(side->ep->ops->rx_size_left(side->ep), -FI_ENOSYS);
	assert_int_equal(fi_tsend(side->ep, NULL, 0, NULL, 0, 0, NULL),
			 -FI_ENOSYS);
	rig_close(rig);
}

/* Tables that libfabric's tcp leaves out, and whose entries are called. */
static void what_has_no_table_says_so(void **state)
{
	struct rig *rig = rig_open(true, true);
	struct side *side = &rig->client;
	struct fi_rx_attr attr = { 0 };
	struct fid_ep *srx;
	size_t count = 1;
	uint64_t word = 0;

	rig_endpoint(side, side->info);
	assert_int_equal(fi_srx_context(side->domain, &attr, &srx, NULL), 0);
	assert_int_equal(fi_atomic(side->ep, &word, 1, NULL, 0, 0, RIG_KEY,
				   FI_UINT64, FI_SUM, NULL),
			 -FI_ENOSYS);
	assert_int_equal(fi_atomicvalid(side->ep, FI_UINT64, FI_SUM, &count),
			 -FI_ENOSYS);
	assert_int_equal(fi_barrier(side->ep, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_read(srx, &word, 8, NULL, 0, 0, RIG_KEY, NULL),
			 -FI_ENOSYS);
	assert_int_equal(fi_connect(srx, side->info->dest_addr, NULL, 0),
			 -FI_ENOSYS);
	assert_int_equal(fi_atomic(srx, &word, 1, NULL, 0, 0, RIG_KEY,
				   FI_UINT64, FI_SUM, NULL),
			 -FI_ENOSYS);
	count = sizeof(word);
	assert_int_equal(fi_getname(&srx->fid, &word, &count), -FI_ENOSYS);
	fi_close(&srx->fid);
	rig_close(rig);
}

static void flags_that_mean_nothing_here_are_refused(void **state)
{
	struct rig *rig = rig_open(true, true);
	struct fi_rx_attr attr = { 0 };
	struct iovec iov;
	struct fi_rma_iov rma = { 0, 8, RIG_KEY };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct fi_msg_rma rma_msg = { .msg_iov = &iov,
				      .iov_count = 1,
				      .rma_iov = &rma,
				      .rma_iov_count = 1,
				      .context = CTX(5) };
	struct fid_ep *ep, *srx;
	uint8_t in[8];

	rig_connect(rig);
	ep = rig->client.ep;
	iov.iov_base = in;
	iov.iov_len = sizeof(in);
	assert_int_equal(fi_srx_context(rig->client.domain, &attr, &srx, NULL),
			 0);
	assert_int_equal(fi_sendmsg(ep, &msg, FI_FENCE), -FI_EBADFLAGS);
	assert_int_equal(fi_sendmsg(ep, &msg, 1ULL << 59), -FI_EBADFLAGS);
	/* A write can be made persistent, and not what a receive has. */
	assert_int_equal(fi_sendmsg(ep, &msg, FI_COMMIT_COMPLETE),
			 -FI_EOPNOTSUPP);
	assert_int_equal(fi_sendmsg(ep, &msg, FI_INJECT | FI_COMMIT_COMPLETE),
			 -FI_EOPNOTSUPP);
	assert_int_equal(fi_recvmsg(ep, &msg, FI_PEEK), -FI_EBADFLAGS);
	assert_int_equal(fi_recvmsg(ep, &msg, FI_MULTI_RECV), -FI_EBADFLAGS);
	assert_int_equal(fi_recvmsg(srx, &msg, FI_PEEK), -FI_EBADFLAGS);
	assert_int_equal(fi_writemsg(ep, &rma_msg, FI_FENCE), -FI_EBADFLAGS);
	assert_int_equal(fi_readmsg(ep, &rma_msg, FI_FENCE), -FI_EBADFLAGS);
	assert_int_equal(fi_readmsg(ep, &rma_msg, FI_REMOTE_CQ_DATA),
			 -FI_EBADFLAGS);
	/* What is known, among it what changes nothing here. */
	assert_int_equal(fi_writemsg(ep, &rma_msg,
				     FI_COMPLETION | FI_MORE | FI_RMA |
					     FI_WRITE | FI_DELIVERY_COMPLETE),
			 0);
	assert_int_equal(rig_wait(rig, &rig->client, CTX(5)).err, 0);
	fi_close(&srx->fid);
	rig_close(rig);
}

/* A request is rejected with data; the client's interface has this version. */
static struct rig *rejected(uint32_t version)
{
	struct rig *rig = rig_open(true, true);
	struct event event;
	uint8_t peek[1024];
	uint64_t until_ms = rig_now_ms() + RIG_DEADLINE_MS;
	uint32_t kind;

	rig->client.fabric->api_version = version;
	rig_endpoint(&rig->client, rig->client.info);
	assert_int_equal(fi_connect(rig->client.ep, rig->client.info->dest_addr,
				    NULL, 0),
			 0);
	rig_event(rig, &rig->server, &event);
	assert_int_equal(fi_reject(rig->server.pep, event.info->handle,
				   "because", 8),
			 0);
	fi_freeinfo(event.info);
	while (fi_eq_read(rig->client.eq, &kind, peek, sizeof(peek), 0) ==
	       -FI_EAGAIN)
		assert_true(rig_now_ms() < until_ms);
	return rig;
}

static void data_of_errors_are_the_providers_before_1_5(void **state)
{
	struct rig *rig = rejected(FI_VERSION(1, 4));
	uint8_t mine[4] = "xyz";
	struct fi_eq_err_entry err = { .err_data = mine,
				       .err_data_size = sizeof(mine) };

	/* What it holds is no buffer: it was not set by its caller then. */
	assert_true(fi_eq_readerr(rig->client.eq, &err, 0) > 0);
	assert_ptr_not_equal(err.err_data, mine);
	assert_int_equal(err.err_data_size, 8);
	assert_string_equal((char *)err.err_data, "because");
	assert_string_equal((char *)mine, "xyz");
	rig_close(rig);
}

static void data_of_errors_fill_a_buffer_since_1_5(void **state)
{
	struct rig *rig = rejected(VERSION);
	uint8_t mine[4] = "xyz";
	struct fi_eq_err_entry err = { .err_data = mine,
				       .err_data_size = sizeof(mine) };

	/* Who peeks takes nothing. */
	assert_true(fi_eq_readerr(rig->client.eq, &err, FI_PEEK) > 0);
	memset(mine, 0, sizeof(mine));
	assert_true(fi_eq_readerr(rig->client.eq, &err, 0) > 0);
	assert_ptr_equal(err.err_data, mine);
	assert_int_equal(err.err_data_size, sizeof(mine));
	assert_memory_equal(mine, "beca", sizeof(mine));
	assert_int_equal(fi_eq_readerr(rig->client.eq, &err, 0), -FI_EAGAIN);
	rig_close(rig);
}

/* The error of a receive that its user takes back. */
static struct fi_cq_err_entry cancelled(uint32_t version,
					struct fi_cq_err_entry entry)
{
	struct rig *rig = rig_open(true, true);
	uint8_t in[8];

	rig->client.fabric->api_version = version;
	rig_connect(rig);
	assert_int_equal(fi_recv(rig->client.ep, in, 8, NULL, 0, CTX(1)), 0);
	assert_int_equal(fi_cancel(&rig->client.ep->fid, CTX(1)), 0);
	assert_int_equal(fi_cq_readerr(rig->client.cq, &entry, 0), 1);
	assert_int_equal(entry.err, FI_ECANCELED);
	rig_close(rig);
	return entry;
}

static void errors_end_where_the_interface_says(void **state)
{
	uint8_t mine[4];
	struct fi_cq_err_entry entry = { .err_data = mine,
					 .err_data_size = sizeof(mine) };
	struct fi_cq_err_entry got;

	/* The entry ended before the size of its data then. */
	got = cancelled(FI_VERSION(1, 4), entry);
	assert_null(got.err_data);
	assert_int_equal(got.err_data_size, sizeof(mine));
	got = cancelled(VERSION, entry);
	assert_ptr_equal(got.err_data, mine);
	assert_int_equal(got.err_data_size, 0);
}

/* The server's passive endpoint, while an accept() below is to be overtaken. */
static struct rig *overtaken;

ssize_t __real_send(int fd, const void *buf, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags);

/* The peer has the accept, and asks for a connection before we go on. */
ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags)
{
	struct rig *rig = overtaken;
	ssize_t n = __real_send(fd, buf, len, flags);
	uint8_t event[1024];
	uint32_t kind;

	if (!rig)
		return n;
	overtaken = NULL;
	close(raw_request(rig, TCPW_LITTLE));
	while (fi_eq_read(rig->server.eq, &kind, event, sizeof(event),
			  FI_PEEK) < 0)
		usleep(1000);
	return n;
}

static void nobody_overtakes_an_accept(void **state)
{
	struct rig *rig = rig_open(true, true);
	struct event event;

	rig_endpoint(&rig->client, rig->client.info);
	assert_int_equal(fi_connect(rig->client.ep, rig->client.info->dest_addr,
				    NULL, 0),
			 0);
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, FI_CONNREQ);
	rig_endpoint(&rig->server, event.info);
	fi_freeinfo(event.info);
	overtaken = rig;
	assert_int_equal(fi_accept(rig->server.ep, NULL, 0), 0);
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, FI_CONNECTED);
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, FI_CONNREQ);
	assert_int_equal(
		fi_reject(rig->server.pep, event.info->handle, NULL, 0), 0);
	fi_freeinfo(event.info);
	rig_close(rig);
}

static void *sleep_in_queue(void *arg)
{
	struct fi_cq_data_entry entry;

	return (void *)fi_cq_sread(arg, &entry, 1, NULL, -1);
}

static void a_signal_wakes_who_sleeps(void **state)
{
	struct rig *rig = rig_open(true, true);
	pthread_t thread;
	void *rc;

	rig_connect(rig);
	assert_int_equal(pthread_create(&thread, NULL, sleep_in_queue,
					rig->client.cq),
			 0);
	usleep(A_WHILE * 1000);
	assert_int_equal(fi_cq_signal(rig->client.cq), 0);
	alarm(RIG_DEADLINE_MS / 1000);
	assert_int_equal(pthread_join(thread, &rc), 0);
	alarm(0);
	assert_int_equal((intptr_t)rc, -FI_EAGAIN);
	rig_close(rig);
}

static void assert_not_over(struct rig *rig, struct side *side, void *context)
{
	uint64_t until_ms = rig_now_ms() + A_WHILE;

	while (rig_now_ms() < until_ms)
		assert_false(rig_has(rig, side, context));
}

static void a_default_of_delivery_waits_for_the_receive(void **state)
{
	struct rig *rig = rig_open(true, true);
	uint8_t in[8];

	rig->client.info->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	rig_connect(rig);
	assert_int_equal(fi_send(rig->client.ep, "1234567", 8, NULL, 0, CTX(1)),
			 0);
	assert_not_over(rig, &rig->client, CTX(1));
	assert_int_equal(fi_recv(rig->server.ep, in, 8, NULL, 0, CTX(2)), 0);
	assert_int_equal(rig_wait(rig, &rig->client, CTX(1)).err, 0);
	/* A read takes nothing from it. */
	assert_int_equal(
		fi_read(rig->client.ep, in, 8, NULL, 0, 0, RIG_KEY, CTX(3)), 0);
	assert_int_equal(rig_wait(rig, &rig->client, CTX(3)).err, 0);
	rig_close(rig);
}

static void a_write_with_data_waits_for_the_target(void **state)
{
	struct rig *rig = rig_open(true, true);
	struct seen seen;

	/* The server has not asked for such data, and hangs up. */
	rig_connect(rig);
	assert_int_equal(fi_writedata(rig->client.ep, "1234567", 8, NULL, 77, 0,
				      0, RIG_KEY, CTX(1)),
			 0);
	seen = rig_wait(rig, &rig->client, CTX(1));
	assert_int_equal(seen.err, FI_ECANCELED);
	rig_close(rig);
}

static struct rig *connected_with_data(void)
{
	struct rig *rig;

	rig_with_data(true);
	rig = rig_open(true, true);
	rig_with_data(false);
	rig_connect(rig);
	return rig;
}

static void data_of_writes_come_in_order_without_receives(void **state)
{
	struct rig *rig = connected_with_data();

	for (unsigned int i = 0; i < 3000; i++) {
		ssize_t rc;

		while ((rc = fi_writedata(rig->client.ep, "1234567", 8, NULL, i,
					  0, 0, RIG_KEY, CTX(1))) == -FI_EAGAIN)
			rig_step(rig);
		assert_int_equal(rc, 0);
		assert_int_equal(rig_wait(rig, &rig->client, CTX(1)).err, 0);
		assert_int_equal(rig_wait(rig, &rig->server, NULL).data, i);
	}
	rig_close(rig);
}

/* Nobody reads there: so many are taken, and no more. */
static void data_of_writes_that_nobody_reads_are_bounded(void **state)
{
	struct rig *rig = connected_with_data();
	struct fi_cq_data_entry entry;
	unsigned int sent = 0, done = 0, taken = 0;
	uint64_t until_ms = rig_now_ms() + RIG_DEADLINE_MS;

	while (done < 1024 || sent < 1024 + 200) {
		if (!fi_writedata(rig->client.ep, "1234567", 8, NULL, sent, 0,
				  0, RIG_KEY, CTX(1)))
			sent++;
		done += fi_cq_read(rig->client.cq, &entry, 1) == 1;
		assert_true(rig_now_ms() < until_ms);
	}
	for (int i = 0; i < 100; i++) {
		assert_int_equal(fi_cq_read(rig->client.cq, &entry, 1),
				 -FI_EAGAIN);
		usleep(500);
	}
	while (taken < sent || done < sent) {
		if (fi_cq_read(rig->server.cq, &entry, 1) == 1)
			assert_int_equal(entry.data, taken++);
		done += fi_cq_read(rig->client.cq, &entry, 1) == 1;
		assert_true(rig_now_ms() < until_ms);
	}
	rig_close(rig);
}

/* What a forked child does with what it has inherited; 0 when all is well. */
static int close_all(struct side *side)
{
	alarm(RIG_DEADLINE_MS / 1000);
	return fi_close(&side->ep->fid) || fi_close(&side->cq->fid) ||
	       fi_close(&side->mr->fid) || fi_close(&side->domain->fid) ||
	       (side->pep && fi_close(&side->pep->fid)) ||
	       fi_close(&side->eq->fid) || fi_close(&side->fabric->fid);
}

/* A child's connections of its own cannot be its parent's fabric's. */
static int refuses_to_connect(struct rig *rig)
{
	struct fi_info *info = rig->server.info;
	struct fid_pep *pep;
	struct fid_ep *ep;
	struct fid_domain *domain;
	struct iovec iov = { NULL, 0 };
	struct fi_msg msg = { .msg_iov = &iov };
	struct fid *fids[] = { &rig->client.cq->fid };
	struct fi_cq_err_entry error;
	struct fi_cq_data_entry done;
	struct fi_eq_cm_entry event;
	uint32_t kind;

	alarm(RIG_DEADLINE_MS / 1000);
	/* Reading moves data, on sockets that are the parent's, too. */
	if (fi_cq_read(rig->client.cq, &done, 1) != -FI_EOPBADSTATE ||
	    fi_cq_readerr(rig->client.cq, &error, 0) != -FI_EOPBADSTATE ||
	    fi_cq_signal(rig->client.cq) != -FI_EOPBADSTATE ||
	    fi_trywait(rig->client.fabric, fids, 1) != -FI_EOPBADSTATE ||
	    fi_eq_read(rig->client.eq, &kind, &event, sizeof(event), 0) !=
		    -FI_EOPBADSTATE ||
	    fi_eq_sread(rig->client.eq, &kind, &event, sizeof(event), -1, 0) !=
		    -FI_EOPBADSTATE)
		return -1;
	return fi_passive_ep(rig->server.fabric, info, &pep, NULL) !=
		       -FI_EOPBADSTATE ||
	       fi_listen(rig->server.pep) != -FI_EOPBADSTATE ||
	       fi_domain(rig->server.fabric, info, &domain, NULL) !=
		       -FI_EOPBADSTATE ||
	       fi_endpoint(rig->client.domain, info, &ep, NULL) !=
		       -FI_EOPBADSTATE ||
	       fi_connect(rig->client.ep, rig->client.info->dest_addr, NULL,
			  0) != -FI_EOPBADSTATE ||
	       fi_accept(rig->client.ep, NULL, 0) != -FI_EOPBADSTATE ||
	       fi_shutdown(rig->client.ep, 0) != -FI_EOPBADSTATE ||
	       fi_sendmsg(rig->client.ep, &msg, 0) != -FI_EOPBADSTATE ||
	       fi_recvmsg(rig->client.ep, &msg, 0) != -FI_EOPBADSTATE;
}

static void a_child_does_not_connect_by_its_parents_fabric(void **state)
{
	struct rig *rig = rig_open(true, true);
	int status = -1;
	pid_t child;

	rig_endpoint(&rig->client, rig->client.info);
	child = fork();
	if (!child)
		_exit(refuses_to_connect(rig) ? EXIT_FAILURE : EXIT_SUCCESS);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	rig_close(rig);
}

/* True: what its shard hears of is not to be had any more. */
static bool shards_are_full;

int __real_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);

int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	if (shards_are_full && op == EPOLL_CTL_ADD &&
	    event->events & EPOLLONESHOT) {
		errno = ENOSPC;
		return -1;
	}
	return __real_epoll_ctl(epfd, op, fd, event);
}

static bool is_readable(struct fid *fid)
{
	struct pollfd fd = { .events = POLLIN };

	assert_int_equal(fi_control(fid, FI_GETWAIT, &fd.fd), 0);
	return poll(&fd, 1, 0);
}

/* What could not be given to its user does not wake him for ever. */
static void a_connection_that_failed_leaves_its_users_queues(void **state)
{
	struct rig *rig;
	struct event event;

	rig_manual(true, true);
	rig = rig_open(true, true);
	rig_endpoint(&rig->client, rig->client.info);
	assert_int_equal(fi_connect(rig->client.ep, rig->client.info->dest_addr,
				    NULL, 0),
			 0);
	rig_event(rig, &rig->server, &event);
	rig_endpoint(&rig->server, event.info);
	fi_freeinfo(event.info);
	shards_are_full = true;
	assert_int_equal(fi_accept(rig->server.ep, NULL, 0), -FI_ENOSPC);
	shards_are_full = false;
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.err, FI_ENOSPC);
	assert_false(is_readable(&rig->server.cq->fid));
	{
		struct fid *eq = &rig->server.eq->fid;

		assert_int_equal(fi_trywait(rig->server.fabric, &eq, 1), 0);
		assert_false(is_readable(eq));
	}
	rig_close(rig);
	rig_manual(false, false);
}

/*
 * All places for completions of writes are taken by writes that have not come
 * to an end, and one of these ends with its connection. Nothing is there to be
 * read: who sleeps in the queue has to hear of the room all the same.
 */
static void room_that_no_reader_made_is_used(void **state)
{
	struct rig *rig = connected_with_data();
	struct fi_cq_data_entry entry;
	struct stcp_cq *cq =
		stcp_container_of(rig->server.cq, struct stcp_cq, fid);
	unsigned int n = 0;
	pthread_t thread;
	void *rc;

	while (stcp_cq_reserve(cq))
		n++;
	assert_int_equal(n, STCP_UNBIDDEN_MAX);
	atomic_store(&cq->stalled, false);
	assert_int_equal(fi_writedata(rig->client.ep, "1234567", 8, NULL, 77, 0,
				      0, RIG_KEY, CTX(1)),
			 0);
	while (!atomic_load(&cq->stalled))
		usleep(1000);
	assert_int_equal(fi_cq_read(rig->server.cq, &entry, 1), -FI_EAGAIN);
	assert_int_equal(pthread_create(&thread, NULL, sleep_in_queue,
					rig->server.cq),
			 0);
	usleep(A_WHILE * 1000);
	while (n--)
		stcp_cq_release(cq);
	alarm(RIG_DEADLINE_MS / 1000);
	assert_int_equal(pthread_join(thread, &rc), 0);
	alarm(0);
	assert_int_equal((intptr_t)rc, 1);
	assert_int_equal(rig_wait(rig, &rig->client, CTX(1)).err, 0);
	rig_close(rig);
}

/* And a provider of its own. */
static int open_and_close(void)
{
	struct rig *rig = rig_open(true, true);

	rig_connect(rig);
	rig_close(rig);
	return 0;
}

static void forks(bool manual)
{
	struct rig *rig;
	uint8_t in[8];
	int status = -1;
	pid_t child;

	rig_manual(manual, manual);
	rig = rig_open(true, true);
	rig_connect(rig);
	child = fork();
	if (!child)
		_exit(close_all(&rig->client) || close_all(&rig->server) ||
				      open_and_close()
			      ? EXIT_FAILURE
			      : EXIT_SUCCESS);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(fi_recv(rig->server.ep, in, 8, NULL, 0, CTX(1)), 0);
	assert_int_equal(fi_send(rig->client.ep, "1234567", 8, NULL, 0, CTX(2)),
			 0);
	assert_int_equal(rig_wait(rig, &rig->server, CTX(1)).err, 0);
	rig_close(rig);
	rig_manual(false, false);
}

static void a_child_that_closes_leaves_the_parents_connections(void **state)
{
	forks(false);
	forks(true);
}

static void who_reads_no_queue_hears_of_the_end(void **state)
{
	struct rig *rig;
	uint64_t until_ms = rig_now_ms() + RIG_DEADLINE_MS;
	uint8_t event[1024];
	uint32_t kind = 0;

	rig_manual(true, true);
	rig = rig_open(true, true);
	rig_connect(rig);
	assert_int_equal(fi_shutdown(rig->client.ep, 0), 0);
	while (fi_eq_read(rig->server.eq, &kind, event, sizeof(event), 0) < 0 &&
	       rig_now_ms() < until_ms)
		usleep(1000);
	assert_int_equal(kind, FI_SHUTDOWN);
	rig_close(rig);
	rig_manual(false, false);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_table_has_what_stock_has),
		cmocka_unit_test(what_is_not_done_says_so),
		cmocka_unit_test(what_has_no_table_says_so),
		cmocka_unit_test(flags_that_mean_nothing_here_are_refused),
		cmocka_unit_test(data_of_errors_are_the_providers_before_1_5),
		cmocka_unit_test(data_of_errors_fill_a_buffer_since_1_5),
		cmocka_unit_test(errors_end_where_the_interface_says),
		cmocka_unit_test(
			a_child_does_not_connect_by_its_parents_fabric),
		cmocka_unit_test(
			a_connection_that_failed_leaves_its_users_queues),
		cmocka_unit_test(room_that_no_reader_made_is_used),
		cmocka_unit_test(nobody_overtakes_an_accept),
		cmocka_unit_test(a_signal_wakes_who_sleeps),
		cmocka_unit_test(a_default_of_delivery_waits_for_the_receive),
		cmocka_unit_test(a_write_with_data_waits_for_the_target),
		cmocka_unit_test(data_of_writes_come_in_order_without_receives),
		cmocka_unit_test(data_of_writes_that_nobody_reads_are_bounded),
		cmocka_unit_test(
			a_child_that_closes_leaves_the_parents_connections),
		cmocka_unit_test(who_reads_no_queue_hears_of_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
