// SPDX-License-Identifier: BSD-2-Clause
/*
 * The daemon as a whole: start, serve, stop.
 *
 * Stop: no new connections; clients that understand EVENT are told and get
 * until the deadline; every session is fenced; then one drain after all that
 * was mapped for writing has been flushed makes the stop a clean one.
 */
#include "brickd/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "brickd/admin/admin.h"
#include "brickd/admin/metrics.h"
#include "brickd/base/clock.h"
#include "brickd/base/notify.h"
#include "brickd/base/util.h"
#include "brickd/net/devices.h"
#include "brickd/net/selftest.h"
#include "brickd/op/handlers.h"
#include "brickd/op/message.h"
#include "brickd/op/op.h"
#include "brickd/reload.h"
#include "brickd/session/listen.h"
#include "brickd/session/losses.h"
#include "brickd/session/session.h"
#include "brickd/session/sessions.h"
#include "brickd/session/usage.h"
#include "brickd/storage/changes.h"
#include "brickd/storage/cleaner.h"
#include "brickd/storage/flush.h"
#include "brickd/storage/storage_failure.h"
#include "brickd/storage/storage_open.h"
#include "kfabric/user/stcp.h"

/* When the stop begins: looks at the queue of those who have asked. */
#define ASKED_MAX 32

/* Turns of clients before the loop looks at its descriptors. */
#define ROUND_NS 200000ULL

void brick_server_tell_manager(const struct brick_server *server)
{
	char what[BRICK_ERR_BYTES];

	(void)snprintf(what, sizeof(what), "serving %s", server->config->store);
	/* As when it failed: settings that are read again mend no medium. */
	brick_notify_ready(server->storage.medium_failed ? BRICK_FAILED_STATUS
							 : what);
}

/* ---- threads and the loop ---- */

static const struct brick_conn_ops conn_ops = {
	.connected = brick_session_connected,
	.message = brick_op_receive,
	.lost = brick_session_lost,
};

static void rest_blocks(struct brick_sessions *all,
			const struct brick_handle *handles, size_t n)
{
	struct brick_server *server =
		brick_container_of(all, struct brick_server, sessions);

	brick_tier_rest(&server->tier, handles, n);
}

static void session_ended(struct brick_sessions *all,
			  const struct brick_client *client)
{
	brick_fences_ended(all, client);
	brick_reserves_ended(all);
}

static const struct brick_session_ops session_ops = {
	.cancel = brick_ops_cancel,
	.ended = session_ended,
	.rest = rest_blocks,
};

static void medium_failed(struct brick_storage *storage)
{
	struct brick_server *server =
		brick_container_of(storage, struct brick_server, storage);

	brick_losses_tell(&server->sessions);
}

static int start_workers(struct brick_server *server)
{
	const struct {
		struct brick_worker *worker;
		const char *name;
		brick_worker_fn run;
		bool is_wanted;
	} workers[] = {
		{ &server->storage.store_thread, "store",
		  brick_store_thread_run, true },
		{ &server->storage.flusher, "flush", brick_flush_run, true },
		{ &server->sessions.registrar, "registrar",
		  brick_worker_run_by_turns, true },
		{ &server->storage.cleaner, "cleaner", brick_worker_run_each,
		  true },
		{ &server->sessions.fences.writer, "fences",
		  brick_worker_run_each, server->config->fences != NULL },
		{ &server->ops.reservations.writer, "reservations",
		  brick_worker_run_each, server->config->reservations != NULL },
		{ &server->tier.thread, "tier", brick_worker_run_each,
		  server->tier.is_on },
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < BRICK_ARRAY_SIZE(workers); i++) {
		struct brick_worker *w = workers[i].worker;

		if (!workers[i].is_wanted)
			continue;
		w->name = workers[i].name;
		w->run = workers[i].run;
		w->ctx = &server->storage;
		w->box = &server->box;
		rc = brick_worker_start(w);
	}
	return rc;
}

static void stop_workers(struct brick_server *server)
{
	brick_worker_stop(&server->tier.thread);
	brick_worker_stop(&server->storage.cleaner);
	brick_worker_stop(&server->sessions.fences.writer);
	brick_worker_stop(&server->ops.reservations.writer);
	brick_worker_stop(&server->sessions.registrar);
	brick_worker_stop(&server->storage.store_thread);
	brick_worker_stop(&server->storage.flusher);
}

static void events_ready(struct brick_source *source)
{
	brick_listen_service(
		brick_container_of(source, struct brick_fabric, source));
}

static void begin_stop(struct brick_server *server)
{
	uint64_t timeout_ms = server->config->limits.stop_timeout_ms;

	if (server->stop.is_stopping) {
		server->stop.deadline_ms = brick_now_ms(); /* asked twice */
		return;
	}
	brick_log(LOG_INFO, NULL, "stopping");
	brick_notify_stopping(timeout_ms);
	server->stop.is_stopping = true;
	server->stop.deadline_ms = brick_now_ms() + timeout_ms;
	for (uint32_t i = 0; i < server->net.n_fabrics; i++) {
		/* Who has asked already is told why not. */
		for (int n = 0; n < ASKED_MAX; n++)
			brick_listen_service(&server->net.fabrics[i]);
		brick_fabric_unlisten(&server->net.fabrics[i]);
	}
	brick_sessions_stop(&server->sessions);
}

static void signal_ready(struct brick_source *source)
{
	struct brick_server *server =
		brick_container_of(source, struct brick_server, signals);
	struct signalfd_siginfo info;

	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo != SIGHUP)
		begin_stop(server);
	else if (brick_reload(&server->reload))
		brick_server_tell_manager(server);
}

/* While stopping: which connections are done with? */
static void end_idle(struct brick_server *server)
{
	bool late = brick_now_ms() >= server->stop.deadline_ms;
	struct brick_conn *c;

	TAILQ_FOREACH(c, &server->net.conns, link)
	{
		/* One that was told goes by itself, until the deadline. */
		bool idle = !c->session->is_told && !c->session->n_ops &&
			    !c->n_sending;

		if (c->state != KFB_CONN_CLOSING && (late || idle))
			brick_conn_fail(c, LOG_DEBUG, "the brick is stopping");
	}
	brick_tier_run(&server->tier); /* ends its jobs */
	if (TAILQ_EMPTY(&server->sessions.list) &&
	    brick_tier_is_idle(&server->tier))
		brick_loop_stop(&server->loop);
}

/*
 * Turns of clients, until nobody has anything to do or the loop has to look at its
 * descriptors again. What has a bell is heard between two turns; without, those
 * who have come are there after a look at the descriptors only.
 */
static bool serve_clients(struct brick_server *server)
{
	uint64_t until_ns = brick_now_ns() + ROUND_NS;
	bool more;

	do {
		brick_bell_look(&server->net.bell);
		brick_mailbox_look(&server->box);
		more = brick_flows_serve(&server->flows);
	} while (more && !server->net.n_polled && brick_now_ns() < until_ns);
	return more;
}

static bool before_wait(void *ctx)
{
	struct brick_server *server = ctx;
	struct brick_busy *busy = &server->loop.busy;
	bool more = brick_metrics_before_wait(&server->view);

	if (brick_log_next_ms() <= brick_now_ms())
		brick_log_go_on();
	brick_busy_with(busy, BRICK_BUSY_ADMIN);
	(void)brick_busy_end(busy);
	more = brick_sessions_due(&server->sessions) || more;
	brick_unmaps_due(&server->ops);
	brick_busy_with(busy, BRICK_BUSY_SESSION);
	(void)brick_busy_end(busy);
	if (brick_tier_next_ms(&server->tier) <= brick_now_ms())
		brick_tier_run(&server->tier);
	brick_busy_with(busy, BRICK_BUSY_TIER);
	(void)brick_busy_end(busy);
	more = brick_lists_before_wait(&server->ops) || more;
	brick_busy_with(busy, KFB_OP_LIST);
	(void)brick_busy_end(busy);
	more = serve_clients(server) || more;
	if (server->stop.is_stopping) {
		end_idle(server);
		more = more || !brick_flows_are_idle(&server->flows);
	}
	return more;
}

static uint64_t next_ms(void *ctx)
{
	struct brick_server *server = ctx;
	uint64_t ms = brick_tier_next_ms(&server->tier), other_ms;

	other_ms = brick_sessions_next_ms(&server->sessions);
	ms = other_ms < ms ? other_ms : ms;
	other_ms = brick_unmaps_next_ms(&server->ops);
	ms = other_ms < ms ? other_ms : ms;
	other_ms = brick_log_next_ms();
	return other_ms < ms ? other_ms : ms;
}

static void server_tick(void *ctx)
{
	struct brick_server *server = ctx;

	brick_notify_alive();
	brick_tier_run(&server->tier);
	for (uint32_t i = 0; i < server->net.n_fabrics; i++)
		brick_listen_service(&server->net.fabrics[i]);
	brick_conns_tick(&server->net);
	brick_usage_tick(&server->sessions);
	brick_admin_tick(&server->view);
	brick_metrics_tick(&server->view);
}

static void signals_heard(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

void brick_server_hold_signals(void)
{
	sigset_t set;

	signals_heard(&set);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static int open_signals(struct brick_server *server)
{
	sigset_t set;
	int fd;

	signals_heard(&set);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	server->signals.fd = fd;
	server->signals.ready = signal_ready;
	server->signals.kind = BRICK_BUSY_ADMIN;
	return 0;
}

static int open_loop(struct brick_server *server)
{
	int rc;

	rc = brick_loop_init(&server->loop);
	if (rc)
		return rc;
	server->loop.before_wait = before_wait;
	server->loop.next_ms = next_ms;
	server->loop.tick = server_tick;
	server->loop.ctx = server;
	server->loop.busy.times = server->counters.busy_ns;
	rc = brick_mailbox_init(&server->box);
	if (rc)
		goto fini_loop;
	server->box.flows = &server->flows;
	/* What has no flow is the tiers' and the cleaner's. */
	server->box.source.kind = BRICK_BUSY_TIER;
	rc = open_signals(server);
	if (rc)
		goto fini_box;
	rc = brick_bell_init(&server->net.bell, brick_conn_rung);
	if (rc)
		goto close_signals;
	rc = brick_loop_add(&server->loop, &server->box.source);
	if (!rc)
		rc = brick_loop_add(&server->loop, &server->signals);
	if (!rc)
		rc = brick_loop_add(&server->loop, &server->net.bell.source);
	if (!rc)
		return 0;

	brick_bell_fini(&server->net.bell);
close_signals:
	close(server->signals.fd);
fini_box:
	brick_mailbox_fini(&server->box);
fini_loop:
	brick_loop_fini(&server->loop);
	return rc;
}

static void close_loop(struct brick_server *server)
{
	brick_bell_fini(&server->net.bell);
	close(server->signals.fd);
	brick_mailbox_fini(&server->box);
	brick_loop_fini(&server->loop);
}

/* ---- fabrics ---- */

static void close_fabrics(struct brick_server *server)
{
	while (server->net.n_fabrics)
		brick_fabric_close(
			&server->net.fabrics[--server->net.n_fabrics]);
}

static int open_fabrics(struct brick_server *server, char *err, size_t err_len)
{
	const struct brick_config *config = server->config;
	int rc;

	for (uint32_t i = 0; i < config->n_listen; i++) {
		struct brick_fabric *f = &server->net.fabrics[i];

		f->net = &server->net;
		f->listener = &server->sessions;
		f->address = &config->listen[i];
		f->source.ready = events_ready;
		f->source.kind = BRICK_BUSY_CONNECT;
		rc = brick_fabric_open(f, config->allow_untrusted_tcp, err,
				       err_len);
		if (rc)
			goto fail;
		server->net.n_fabrics++;
		rc = brick_selftest(f, err, err_len);
		if (rc)
			goto fail;
	}
	return 0;

fail:
	close_fabrics(server);
	return rc;
}

/*
 * After a stop that was not clean whoever wrote to a block last may come back
 * for it before others change it.
 */
static void begin_grace(struct brick_server *server)
{
	uint64_t lease_ms = server->config->limits.lease_ms;

	if (!lease_ms || brick_store_recovery(server->storage.store)->was_clean)
		return;
	server->ops.grace_until_ms = brick_now_ms() + lease_ms;
	brick_log(LOG_INFO, NULL,
		  "the last stop was not clean: for %llu ms blocks are mapped "
		  "for writing and freed for their last writers only",
		  (unsigned long long)lease_ms);
}

/* What is promised to clients and is not there is known before they ask. */
static void tell_overcommitment(const struct brick_server *server)
{
	struct brick_store_stats s;
	uint64_t granted, n;

	if (brick_config_writable(server->config, &granted))
		return;
	brick_store_stats(server->storage.store, &s);
	n = s.slots_total - s.slots_bad + s.slow_total - s.slow_bad -
	    s.slow_spare;
	if (granted <= n)
		return;
	brick_log(LOG_NOTICE, NULL,
		  "grants overcommit the store: clients may allocate %llu "
		  "blocks, and it has room for %llu",
		  (unsigned long long)granted, (unsigned long long)n);
}

static int listen_all(struct brick_server *server, char *err, size_t err_len)
{
	char url[BRICK_URL_BYTES];

	for (uint32_t i = 0; i < server->net.n_fabrics; i++) {
		struct brick_fabric *f = &server->net.fabrics[i];
		int rc = brick_fabric_listen(f, err, err_len);

		if (!rc)
			rc = brick_loop_add(&server->loop, &f->source);
		if (rc)
			return rc;
		brick_address_format(f->address, f->port, url);
		brick_log(f->path == KFB_PATH_UNTRUSTED ? LOG_WARNING
							: LOG_INFO,
			  NULL, "serving %s on %s (%s)", server->config->store,
			  url, kfb_path_name(f->path));
	}
	return 0;
}

/* ---- administrators and metrics ---- */

static void stop_observers(struct brick_server *server)
{
	brick_metrics_stop(&server->view);
	brick_admin_stop(&server->view);
}

static int start_observers(struct brick_server *server, char *err,
			   size_t err_len)
{
	char url[BRICK_URL_BYTES];
	int rc;

	rc = brick_admin_start(&server->view, err, err_len);
	if (rc)
		return rc;
	rc = brick_metrics_start(&server->view, err, err_len);
	if (rc) {
		brick_admin_stop(&server->view);
		return rc;
	}
	if (brick_metrics_url(&server->view, url))
		brick_log(LOG_INFO, NULL, "metrics on %s", url);
	return 0;
}

/* ---- the whole ---- */

/* Each room gets what it works on, and whom it is to tell. */
static void join_rooms(struct brick_server *server)
{
	const struct brick_config *config = server->config;

	server->net.ops = &conn_ops;
	server->net.stop = &server->stop;
	server->net.loop = &server->loop;
	server->net.flows = &server->flows;
	server->storage.config = config;
	server->storage.counters = &server->counters;
	server->storage.failed = medium_failed;
	server->sessions.ops = &session_ops;
	server->sessions.config = config;
	server->sessions.stop = &server->stop;
	server->sessions.storage = &server->storage;
	server->sessions.net = &server->net;
	server->sessions.counters = &server->counters;
	server->sessions.busy = &server->loop.busy;
	server->sessions.requests = &server->ops;
	server->tier.config = config;
	server->tier.stop = &server->stop;
	server->tier.storage = &server->storage;
	server->tier.sessions = &server->sessions;
	server->tier.range_locks = &server->ops.range_locks;
	server->tier.counters = &server->counters;
	server->ops.config = config;
	server->ops.stop = &server->stop;
	server->ops.storage = &server->storage;
	server->ops.sessions = &server->sessions;
	server->ops.tier = &server->tier;
	server->ops.counters = &server->counters;
	server->ops.flows = &server->flows;
	server->ops.busy = &server->loop.busy;
	server->reload.config = server->config;
	server->reload.sessions = &server->sessions;
	server->reload.ops = &server->ops;
	server->view = (struct brick_view){
		.config = config,
		.loop = &server->loop,
		.counters = &server->counters,
		.started_ns = brick_now_ns(),
		.net = &server->net,
		.storage = &server->storage,
		.sessions = &server->sessions,
		.ops = &server->ops,
		.tier = &server->tier,
	};
}

static void init_rooms(struct brick_server *server)
{
	const struct kfb_grant all = { .n_blocks = KFB_BLOCKS_MAX,
				       .access = KFB_GRANT_RW };

	for (int i = 0; i < BRICK_LINES_KINDS; i++) {
		server->net.lines[i].interval_ms = 10 * BRICK_TICK_MS;
		server->net.lines[i].burst = 20;
	}
	for (int i = 0; i < TCPW_VIOLATIONS; i++) {
		server->net.violation_lines[i].interval_ms = 10 * BRICK_TICK_MS;
		server->net.violation_lines[i].burst = 1;
	}
	TAILQ_INIT(&server->net.conns);
	brick_flows_init(&server->flows, &server->loop.busy);
	TAILQ_INIT(&server->net.hurried);
	server->sessions.lines.interval_ms = 10 * BRICK_TICK_MS;
	server->sessions.lines.burst = 200;
	server->sessions.anonymous.owner = brick_owner_hash("");
	(void)brick_grants_add(&server->sessions.anonymous.grants, &all);
	TAILQ_INIT(&server->sessions.list);
	TAILQ_INIT(&server->sessions.rated);
	brick_leases_init(&server->sessions.leases,
			  server->config->limits.lease_ms);
	TAILQ_INIT(&server->ops.unrevoked);
	TAILQ_INIT(&server->ops.fencing);
	TAILQ_INIT(&server->ops.ending);
	brick_reserves_init(&server->ops.reserving);
	TAILQ_INIT(&server->ops.awaiting);
	STAILQ_INIT(&server->ops.lists);
	brick_range_locks_init(&server->ops.range_locks);
}

int brick_server_start(struct brick_server *server, struct brick_config *config,
		       char *err, size_t err_len)
{
	int rc;

	server->config = config;
	stcp_set_busy_poll((unsigned int)config->limits.tcp_busy_poll_us);
	stcp_tell_strays(true);
	join_rooms(server);
	init_rooms(server);
	rc = brick_fences_open(&server->sessions.fences, config->fences, err,
			       err_len);
	if (rc)
		return rc;
	rc = brick_reservations_open(&server->ops.reservations,
				     config->reservations, err, err_len);
	if (rc)
		goto close_fences;
	rc = open_fabrics(server, err, err_len);
	if (rc)
		goto close_reservations;
	rc = brick_storage_open(&server->storage, err, err_len);
	if (rc)
		goto close_fabrics;
	brick_mappings_init(&server->sessions.mappings,
			    server->storage.instance_id,
			    brick_session_is_ending);
	for (uint32_t i = 0; !rc && i < server->net.n_fabrics; i++)
		rc = brick_devices_try_medium(&server->net.fabrics[i],
					      server->storage.media, err,
					      err_len);
	if (rc)
		goto close_store;
	rc = open_loop(server);
	if (rc) {
		snprintf(err, err_len, "event loop: %s", strerror(-rc));
		goto close_store;
	}
	brick_tier_init(&server->tier);
	rc = start_workers(server);
	if (rc) {
		snprintf(err, err_len, "threads: %s", strerror(-rc));
		goto stop_workers;
	}
	begin_grace(server);
	tell_overcommitment(server);
	rc = start_observers(server, err, err_len);
	if (rc)
		goto stop_workers;
	rc = listen_all(server, err, err_len);
	if (rc)
		goto stop_observers;
	brick_cleaner_kick(&server->storage);
	return 0;

stop_observers:
	stop_observers(server);
stop_workers:
	stop_workers(server);
	close_loop(server);
close_store:
	/* Nothing was served: what the last stop left is as it was. */
	(void)brick_storage_close(
		&server->storage,
		brick_store_recovery(server->storage.store)->was_clean);
close_fabrics:
	close_fabrics(server);
close_reservations:
	brick_reservations_close(&server->ops.reservations);
close_fences:
	brick_fences_close(&server->sessions.fences);
	return rc;
}

int brick_server_run(struct brick_server *server)
{
	return brick_loop_run(&server->loop);
}

int brick_server_stop(struct brick_server *server)
{
	bool is_clean;
	int rc;

	stop_observers(server);
	stop_workers(server);
	brick_mailbox_deliver(&server->box);
	(void)brick_store_drain(server->storage.store);
	brick_failure_look(&server->storage);
	is_clean = !server->storage.medium_failed &&
		   !server->storage.has_unflushed &&
		   brick_cleaner_finish(&server->storage,
					server->stop.deadline_ms);
	close_fabrics(server);
	rc = brick_storage_close(&server->storage, is_clean);
	close_loop(server);
	brick_reservations_close(&server->ops.reservations);
	brick_fences_close(&server->sessions.fences);
	if (rc && !server->storage.medium_failed)
		brick_log(LOG_CRIT, NULL,
			  "%s: the medium failed at the end of the stop: it is "
			  "not a clean one",
			  server->config->store);
	if (!rc && is_clean)
		brick_log(LOG_INFO, NULL, "stopped cleanly");
	return rc;
}
