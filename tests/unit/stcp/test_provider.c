// SPDX-License-Identifier: BSD-2-Clause
/*
 * stcp as a provider like another: what it says that it does, that it does; for
 * the rest there is an errno. libfabric's own tcp is beside it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <rdma/fi_tagged.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "raw.h"
#include "stcp.h"

/* Of API 1.4; the names in libfabric 2 are deprecated. */
#define MR_BASIC    1
#define MR_SCALABLE 2

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

/* What hints are changed to, and in which version of the interface. */
struct wish {
	const char *name;
	uint32_t version;
	void (*make)(struct fi_info *hints);
};

#define WISH(name, field, value)                \
	static void name(struct fi_info *hints) \
	{                                       \
		hints->field = value;           \
	}
WISH(wish_order_write_after_read, tx_attr->msg_order, FI_ORDER_WAR)
WISH(wish_order_send_after_read, rx_attr->msg_order, FI_ORDER_SAR)
WISH(wish_completion_order, tx_attr->comp_order, 1)
WISH(wish_commit, tx_attr->op_flags, FI_COMMIT_COMPLETE)
WISH(wish_multi_recv, rx_attr->op_flags, FI_MULTI_RECV)
WISH(wish_buffers, rx_attr->total_buffered_recv, 1)
WISH(wish_protocol, ep_attr->protocol, FI_PROTO_RXM)
WISH(wish_protocol_version, ep_attr->protocol_version, 1)
WISH(wish_contexts, ep_attr->tx_ctx_cnt, 2)
WISH(wish_shared_tx, ep_attr->tx_ctx_cnt, FI_SHARED_CONTEXT)
WISH(wish_rx_contexts, ep_attr->rx_ctx_cnt, 2)
WISH(wish_war_size, ep_attr->max_order_war_size, 1)
WISH(wish_counters, domain_attr->cntr_cnt, 1)
WISH(wish_domain_caps, domain_attr->caps, FI_SHARED_AV)
WISH(wish_basic, domain_attr->mr_mode, MR_BASIC)
WISH(wish_mode_of_1_5, domain_attr->mr_mode, FI_MR_LOCAL)
WISH(wish_stx, domain_attr->max_ep_stx_ctx, 1)
WISH(wish_tagged, caps, FI_TAGGED)
WISH(wish_events, caps, FI_RMA | FI_RMA_EVENT)
WISH(wish_nothing, caps, 0)
WISH(wish_scalable, domain_attr->mr_mode, MR_SCALABLE)
WISH(wish_many_modes, domain_attr->mr_mode, FI_MR_LOCAL | FI_MR_PROV_KEY)
WISH(wish_delivery, tx_attr->op_flags, FI_DELIVERY_COMPLETE)
WISH(wish_shared_rx, ep_attr->rx_ctx_cnt, FI_SHARED_CONTEXT)
WISH(wish_waw_size, ep_attr->max_order_waw_size, 1 << 20)
WISH(wish_waw, tx_attr->msg_order, FI_ORDER_WAW)

static int ask(const struct wish *wish, struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int rc;

	assert_non_null(hints);
	wish->make(hints);
	rc = stcp_getinfo(wish->version, NULL, NULL, 0, hints, info);
	fi_freeinfo(hints);
	return rc;
}

#define NEW(name)                    \
	{                            \
#name, VERSION, name \
	}
#define OLD(name)                                           \
	{                                                   \
#name " before 1.5", FI_VERSION(1, 4), name \
	}

static void what_is_not_kept_is_not_granted(void **state)
{
	static const struct wish wishes[] = {
		NEW(wish_order_write_after_read),
		NEW(wish_order_send_after_read),
		NEW(wish_completion_order),
		NEW(wish_commit),
		NEW(wish_multi_recv),
		NEW(wish_buffers),
		NEW(wish_protocol),
		NEW(wish_protocol_version),
		NEW(wish_contexts),
		NEW(wish_shared_tx),
		NEW(wish_rx_contexts),
		NEW(wish_war_size),
		NEW(wish_counters),
		NEW(wish_domain_caps),
		NEW(wish_basic),
		NEW(wish_stx),
		NEW(wish_tagged),
		NEW(wish_events),
		OLD(wish_basic),
		OLD(wish_mode_of_1_5),
	};

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		struct fi_info *info = NULL;

		if (ask(&wishes[i], &info) != -FI_ENODATA)
			fail_msg("%s is granted", wishes[i].name);
	}
}

static struct fi_info *granted(struct wish wish)
{
	struct fi_info *info = NULL;

	if (ask(&wish, &info))
		fail_msg("%s is refused", wish.name);
	return info;
}

static void what_is_granted_is_said(void **state)
{
	struct fi_info *info;

	info = granted((struct wish)NEW(wish_nothing));
	assert_int_equal(info->domain_attr->mr_mode, 0);
	assert_int_equal(info->domain_attr->cntr_cnt, 0);
	fi_freeinfo(info);
	info = granted((struct wish)OLD(wish_nothing));
	assert_int_equal(info->domain_attr->mr_mode, MR_SCALABLE);
	fi_freeinfo(info);
	info = granted((struct wish)NEW(wish_scalable));
	assert_int_equal(info->domain_attr->mr_mode, MR_SCALABLE);
	fi_freeinfo(info);
	info = granted((struct wish)NEW(wish_many_modes));
	assert_int_equal(info->domain_attr->mr_mode, 0);
	fi_freeinfo(info);
	info = granted((struct wish)NEW(wish_delivery));
	assert_int_equal(info->tx_attr->op_flags, FI_DELIVERY_COMPLETE);
	fi_freeinfo(info);
	info = granted((struct wish)NEW(wish_shared_rx));
	assert_true(info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT);
	fi_freeinfo(info);
	info = granted((struct wish)NEW(wish_waw));
	assert_true(info->ep_attr->max_order_waw_size > 0);
	fi_freeinfo(info);
	info = granted((struct wish)NEW(wish_waw_size));
	fi_freeinfo(info);
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
		cmocka_unit_test(what_is_not_kept_is_not_granted),
		cmocka_unit_test(what_is_granted_is_said),
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
