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
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "brickd/admin/admin.h"
#include "brickd/base/clock.h"
#include "brickd/net/devices.h"
#include "brickd/storage/failure.h"
#include "brickd/storage/flush.h"
#include "brickd/session/listen.h"
#include "brickd/admin/metrics.h"
#include "brickd/base/notify.h"
#include "brickd/op/op.h"
#include "brickd/reload.h"
#include "brickd/net/selftest.h"
#include "brickd/storage/server_platform.h"
#include "brickd/session/session.h"
#include "brickd/session/sessions.h"
#include "brickd/storage/sigbus.h"
#include "brickd/base/util.h"
#include "kfabric/user/stcp.h"

#define MIB_SHIFT   20
#define CLEAN_SLOTS 16 /* zeroed, or written back, before others get a turn */

void brick_server_tell_manager(const struct brick_server *server)
{
	char what[BRICK_ERR_BYTES];

	(void)snprintf(what, sizeof(what), "serving %s", server->config->store);
	brick_notify_ready(what);
}

/* ---- cleaner ---- */

static void clean(struct brick_work *work)
{
	struct brick_server *server =
		brick_container_of(work, struct brick_server, cleaning);

	int n;

	while (!brick_worker_is_stopping(&server->cleaner)) {
		n = brick_store_clean_one(server->store, CLEAN_SLOTS);
		if (n > 0)
			brick_count_add(&server->counters.slots_cleaned,
					(uint64_t)n);
		if (!n)
			n = brick_store_clean_slow(server->store, CLEAN_SLOTS);
		/* A slow tier that has failed keeps nobody from the rest. */
		if (!n || brick_store_slow_failure(server->store))
			n = brick_store_flush_inherited(server->store,
							CLEAN_SLOTS);
		if (n <= 0)
			break;
	}
}

static void cleaned(struct brick_work *work)
{
	struct brick_server *server =
		brick_container_of(work, struct brick_server, cleaning);

	server->cleaning_queued = false;
	brick_failure_look(server);
	if (server->cleaning_again)
		brick_server_kick_cleaner(server);
}

void brick_server_kick_cleaner(struct brick_server *server)
{
	server->cleaning_again = server->cleaning_queued;
	if (server->cleaning_queued || !server->cleaner.started)
		return;
	server->cleaning_queued = true;
	server->cleaning.run = clean;
	server->cleaning.done = cleaned;
	brick_worker_submit(&server->cleaner, &server->cleaning);
}

/* ---- store ---- */

/* memory:SIZE has nothing to find: it is formatted at each start. */
static int open_media(struct brick_server *server, char *err, size_t err_len)
{
	static const char memory[] = "memory:";
	const char *path = server->config->store;
	struct brick_store_format format = { 0 };
	int rc;

	rc = brick_media_open(path, NULL, &server->media, err, err_len);
	if (rc || strncmp(path, memory, sizeof(memory) - 1))
		return rc;
	randombytes_buf(format.uuid, sizeof(format.uuid));
	rc = brick_store_format(server->media, &format, err, err_len);
	if (rc)
		brick_media_close(server->media);
	return rc;
}

static void log_recovery(const struct brick_server *server)
{
	const struct brick_store_recovery *r =
		brick_store_recovery(server->store);

	if (r->records_repaired || r->super_repaired || r->commit_repaired ||
	    r->instance_repaired || r->slow_repaired)
		brick_log(LOG_WARNING, NULL, "repaired: %llu records%s%s%s%s",
			  (unsigned long long)r->records_repaired,
			  r->super_repaired ? ", a superblock" : "",
			  r->commit_repaired ? ", a commit word" : "",
			  r->instance_repaired ? ", an instance page" : "",
			  r->slow_repaired ? ", a header of the slow tier"
					   : "");
	if (r->records_bad)
		brick_log(
			LOG_CRIT, NULL,
			"%llu slots are lost, and what they held: both copies "
			"of their records are damaged",
			(unsigned long long)r->records_bad);
	if (r->slots_given_up)
		brick_log(LOG_WARNING, NULL,
			  "%llu free slots have bad blocks and are given up",
			  (unsigned long long)r->slots_given_up);
	if (r->blocks_lost)
		brick_log(LOG_CRIT, NULL,
			  "the medium has lost %llu blocks to bad blocks; "
			  "brickctl list shows them as bad; free them, and "
			  "restore what they held from a copy",
			  (unsigned long long)r->blocks_lost);
	if (r->new_power_epoch)
		brick_log(LOG_NOTICE, NULL,
			  "new power epoch: %s: what was not flushed before "
			  "may be lost",
			  r->epoch_why);
}

static int open_slow(struct brick_server *server, char *err, size_t err_len)
{
	if (!server->config->slow)
		return 0;
	return brick_slow_open(server->config->slow, NULL, &server->slow, err,
			       err_len);
}

static void close_slow(struct brick_server *server)
{
	if (server->slow)
		brick_slow_close(server->slow);
	server->slow = NULL;
}

static void log_slow(const struct brick_server *server,
		     const struct brick_store_stats *stats)
{
	if (!server->slow)
		return;
	brick_log(LOG_INFO, NULL, "%s is the slow tier, %llu MiB",
		  server->slow->path,
		  (unsigned long long)stats->slow_total
			  << (KFB_BLOCK_SHIFT - MIB_SHIFT));
	if (server->slow->sync_error)
		brick_log(LOG_WARNING, NULL,
			  "slow tier %s: what an earlier run wrote last could "
			  "not be made durable: %s; no block was in it",
			  server->slow->path,
			  strerror(-server->slow->sync_error));
}

static int open_store(struct brick_server *server, char *err, size_t err_len)
{
	struct brick_store_open o = { 0 };
	struct brick_store_stats stats;
	int rc;

	while (!o.instance_id)
		randombytes_buf(&o.instance_id, sizeof(o.instance_id));
	if (server->config->has_uuid)
		o.expect_uuid = server->config->uuid;
	rc = brick_boot_id_read(o.boot_id);
	if (rc) {
		snprintf(err, err_len, "cannot read this host's boot id: %s",
			 strerror(-rc));
		return rc;
	}
	rc = open_media(server, err, err_len);
	if (rc)
		return rc;
	brick_sigbus_watch(server->media, NULL);
	rc = brick_server_platform_read(server);
	if (!rc)
		rc = brick_server_platform_mend(server, err, err_len);
	if (!rc)
		rc = open_slow(server, err, err_len);
	if (rc)
		goto close_media;
	o.slow = server->slow;
	o.bad = server->platform.bad;
	o.n_bad = server->platform.n_bad;
	o.dirty_shutdowns_known = server->platform.dirty_shutdowns_known;
	o.dirty_shutdowns = server->platform.dirty_shutdowns;
	rc = brick_store_open(server->media, &o, &server->store, err, err_len);
	if (rc)
		goto close_slow;
	brick_store_stats(server->store, &stats);
	server->instance_id = stats.instance_id;
	server->power_epoch = stats.power_epoch;
	memcpy(server->uuid, stats.uuid, sizeof(server->uuid));
	brick_mappings_init(&server->mappings, server->instance_id);
	brick_sigbus_watch(server->media, server->store);
	brick_server_platform_log(server);
	log_slow(server, &stats);
	log_recovery(server);
	return 0;

close_slow:
	close_slow(server);
close_media:
	brick_platform_fini(&server->platform);
	brick_sigbus_watch(NULL, NULL);
	brick_media_close(server->media);
	return rc;
}

static int close_store(struct brick_server *server, bool is_clean)
{
	int rc;

	brick_sigbus_watch(server->media, NULL);
	rc = brick_store_close(server->store, is_clean);
	brick_platform_fini(&server->platform);
	close_slow(server);
	brick_sigbus_watch(NULL, NULL);
	brick_media_close(server->media);
	brick_mappings_fini(&server->mappings);
	return rc;
}

/* ---- threads and the loop ---- */

static int start_workers(struct brick_server *server)
{
	const struct {
		struct brick_worker *worker;
		const char *name;
		brick_worker_fn run;
	} workers[] = {
		{ &server->store_thread, "store", brick_store_thread_run },
		{ &server->flusher, "flush", brick_flush_run },
		{ &server->registrar, "registrar", brick_worker_run_each },
		{ &server->cleaner, "cleaner", brick_worker_run_each },
		{ &server->tier.thread, "tier", brick_worker_run_each },
	};
	size_t n = BRICK_ARRAY_SIZE(workers) - !server->tier.is_on;
	int rc = 0;

	for (size_t i = 0; !rc && i < n; i++) {
		struct brick_worker *w = workers[i].worker;

		w->name = workers[i].name;
		w->run = workers[i].run;
		w->ctx = server;
		w->box = &server->box;
		rc = brick_worker_start(w);
	}
	return rc;
}

static void stop_workers(struct brick_server *server)
{
	brick_worker_stop(&server->tier.thread);
	brick_worker_stop(&server->cleaner);
	brick_worker_stop(&server->registrar);
	brick_worker_stop(&server->store_thread);
	brick_worker_stop(&server->flusher);
}

static void events_ready(struct brick_source *source)
{
	brick_listen_service(
		brick_container_of(source, struct brick_fabric, source));
}

static void begin_stop(struct brick_server *server)
{
	uint64_t timeout_ms = server->config->limits.stop_timeout_ms;

	if (server->stopping) {
		server->stop_deadline_ms = brick_now_ms(); /* asked twice */
		return;
	}
	brick_log(LOG_INFO, NULL, "stopping");
	brick_notify_stopping(timeout_ms);
	server->stopping = true;
	server->stop_deadline_ms = brick_now_ms() + timeout_ms;
	for (uint32_t i = 0; i < server->n_fabrics; i++)
		brick_fabric_unlisten(&server->fabrics[i]);
	brick_sessions_stop(server);
}

static void signalled(struct brick_source *source)
{
	struct brick_server *server =
		brick_container_of(source, struct brick_server, signals);
	struct signalfd_siginfo info;

	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		brick_reload(server);
	else
		begin_stop(server);
}

/* While stopping: which connections are done with? */
static void end_idle(struct brick_server *server)
{
	bool late = brick_now_ms() >= server->stop_deadline_ms;
	struct brick_conn *c;

	TAILQ_FOREACH(c, &server->conns, link)
	{
		/* One that was told goes by itself, until the deadline. */
		bool idle = !c->session->is_told && !c->session->n_ops &&
			    !c->n_sending;

		if (c->state != KFB_CONN_CLOSING && (late || idle))
			brick_conn_fail(c, LOG_DEBUG, "the brick is stopping");
	}
	brick_tier_run(server); /* ends its jobs */
	if (TAILQ_EMPTY(&server->sessions) && brick_tier_is_idle(server))
		brick_loop_stop(&server->loop);
}

static bool before_wait(void *ctx)
{
	struct brick_server *server = ctx;
	bool more = brick_metrics_before_wait(server);

	brick_sessions_due(server);
	if (brick_tier_next_ms(server) <= brick_now_ms())
		brick_tier_run(server);
	more = brick_conns_before_wait(server) || more;
	if (server->stopping) {
		end_idle(server);
		more = more || !TAILQ_EMPTY(&server->kicked);
	}
	return more;
}

static uint64_t next_ms(void *ctx)
{
	uint64_t sessions_ms = brick_sessions_next_ms(ctx);
	uint64_t tier_ms = brick_tier_next_ms(ctx);

	return sessions_ms < tier_ms ? sessions_ms : tier_ms;
}

static void tick(void *ctx)
{
	struct brick_server *server = ctx;

	brick_notify_alive();
	brick_tier_run(server);
	for (uint32_t i = 0; i < server->n_fabrics; i++)
		brick_listen_service(&server->fabrics[i]);
	brick_conns_tick(server);
	brick_admin_tick(server);
	brick_metrics_tick(server);
}

static int open_signals(struct brick_server *server)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	server->signals.fd = fd;
	server->signals.ready = signalled;
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
	server->loop.tick = tick;
	server->loop.ctx = server;
	rc = brick_mailbox_init(&server->box);
	if (rc)
		goto fini_loop;
	rc = open_signals(server);
	if (rc)
		goto fini_box;
	rc = brick_loop_add(&server->loop, &server->box.source);
	if (!rc)
		rc = brick_loop_add(&server->loop, &server->signals);
	if (!rc)
		return 0;

	close(server->signals.fd);
fini_box:
	brick_mailbox_fini(&server->box);
fini_loop:
	brick_loop_fini(&server->loop);
	return rc;
}

static void close_loop(struct brick_server *server)
{
	close(server->signals.fd);
	brick_mailbox_fini(&server->box);
	brick_loop_fini(&server->loop);
}

/* ---- fabrics ---- */

static void close_fabrics(struct brick_server *server)
{
	while (server->n_fabrics)
		brick_fabric_close(&server->fabrics[--server->n_fabrics]);
}

static int open_fabrics(struct brick_server *server, char *err, size_t err_len)
{
	const struct brick_config *config = server->config;
	int rc;

	for (uint32_t i = 0; i < config->n_listen; i++) {
		struct brick_fabric *f = &server->fabrics[i];

		f->server = server;
		f->address = &config->listen[i];
		f->source.ready = events_ready;
		rc = brick_fabric_open(f, err, err_len);
		if (rc)
			goto fail;
		server->n_fabrics++;
		rc = brick_selftest(f, err, err_len);
		if (rc)
			goto fail;
	}
	return 0;

fail:
	close_fabrics(server);
	return rc;
}

static int try_medium(const struct brick_server *server, char *err,
		      size_t err_len)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < server->n_fabrics; i++)
		rc = brick_devices_try_medium(&server->fabrics[i],
					      server->media, err, err_len);
	return rc;
}

/*
 * After a stop that was not clean whoever wrote to a block last may come back
 * for it before others change it.
 */
static void begin_grace(struct brick_server *server)
{
	uint64_t lease_ms = server->config->limits.lease_ms;

	if (!lease_ms || brick_store_recovery(server->store)->was_clean)
		return;
	server->grace_until_ms = brick_now_ms() + lease_ms;
	brick_log(LOG_INFO, NULL,
		  "the last stop was not clean: for %llu ms blocks are mapped "
		  "for writing for their last writers only",
		  (unsigned long long)lease_ms);
}

static int listen_all(struct brick_server *server, char *err, size_t err_len)
{
	char url[BRICK_URL_BYTES];

	for (uint32_t i = 0; i < server->n_fabrics; i++) {
		struct brick_fabric *f = &server->fabrics[i];
		int rc = brick_fabric_listen(f, err, err_len);

		if (!rc)
			rc = brick_loop_add(&server->loop, &f->source);
		if (rc)
			return rc;
		brick_address_format(f->address, f->port, url);
		brick_log(LOG_INFO, NULL, "serving %s on %s",
			  server->config->store, url);
	}
	return 0;
}

/* ---- administrators and metrics ---- */

static void stop_observers(struct brick_server *server)
{
	brick_metrics_stop(server);
	brick_admin_stop(server);
}

static int start_observers(struct brick_server *server, char *err,
			   size_t err_len)
{
	char url[BRICK_URL_BYTES];
	int rc;

	rc = brick_admin_start(server, err, err_len);
	if (rc)
		return rc;
	rc = brick_metrics_start(server, err, err_len);
	if (rc) {
		brick_admin_stop(server);
		return rc;
	}
	if (brick_metrics_url(server, url))
		brick_log(LOG_INFO, NULL, "metrics on %s", url);
	return 0;
}

/* ---- the whole ---- */

int brick_server_start(struct brick_server *server, struct brick_config *config,
		       char *err, size_t err_len)
{
	const struct kfb_grant all = { .n_blocks = KFB_BLOCKS_MAX,
				       .access = KFB_GRANT_RW };
	int rc;

	server->config = config;
	stcp_set_busy_poll((unsigned int)config->limits.tcp_busy_poll_us);
	stcp_tell_strays(true);
	server->started_ns = brick_now_ns();
	server->peer_lines.interval_ms = 10 * BRICK_TICK_MS;
	server->peer_lines.burst = 20;
	server->session_lines.interval_ms = 10 * BRICK_TICK_MS;
	server->session_lines.burst = 200;
	for (int i = 0; i < TCPW_VIOLATIONS; i++) {
		server->violation_lines[i].interval_ms = 10 * BRICK_TICK_MS;
		server->violation_lines[i].burst = 1;
	}
	server->anonymous.owner = brick_owner_hash("");
	(void)brick_grants_add(&server->anonymous.grants, &all);
	TAILQ_INIT(&server->conns);
	TAILQ_INIT(&server->kicked);
	TAILQ_INIT(&server->hurried);
	TAILQ_INIT(&server->sessions);
	TAILQ_INIT(&server->revoking);
	brick_leases_init(&server->leases, config->limits.lease_ms);
	brick_claims_init(&server->claims);
	rc = open_fabrics(server, err, err_len);
	if (rc)
		return rc;
	rc = open_store(server, err, err_len);
	if (rc)
		goto close_fabrics;
	rc = try_medium(server, err, err_len);
	if (rc)
		goto close_store;
	rc = open_loop(server);
	if (rc) {
		snprintf(err, err_len, "event loop: %s", strerror(-rc));
		goto close_store;
	}
	brick_tier_init(server);
	rc = start_workers(server);
	if (rc) {
		snprintf(err, err_len, "threads: %s", strerror(-rc));
		goto stop_workers;
	}
	begin_grace(server);
	rc = start_observers(server, err, err_len);
	if (rc)
		goto stop_workers;
	rc = listen_all(server, err, err_len);
	if (rc)
		goto stop_observers;
	brick_server_kick_cleaner(server);
	return 0;

stop_observers:
	stop_observers(server);
stop_workers:
	stop_workers(server);
	close_loop(server);
close_store:
	/* Nothing was served: what the last stop left is as it was. */
	(void)close_store(server,
			  brick_store_recovery(server->store)->was_clean);
close_fabrics:
	close_fabrics(server);
	return rc;
}

int brick_server_run(struct brick_server *server)
{
	return brick_loop_run(&server->loop);
}

/* What the cleaner has not got to. It takes as long as the stop may take. */
static bool finish_inherited(struct brick_server *server)
{
	while (brick_now_ms() < server->stop_deadline_ms &&
	       brick_store_flush_inherited(server->store, CLEAN_SLOTS) > 0)
		;
	if (!brick_store_has_inherited(server->store))
		return true;
	brick_log(LOG_NOTICE, NULL,
		  "stopped before all was flushed that an instance left that "
		  "was killed: if the host loses its power now, clients are "
		  "told that it is lost");
	return false;
}

int brick_server_stop(struct brick_server *server)
{
	bool is_clean;
	int rc;

	stop_observers(server);
	stop_workers(server);
	brick_mailbox_deliver(&server->box);
	(void)brick_store_drain(server->store);
	brick_failure_look(server);
	is_clean = !server->medium_failed && !server->has_unflushed &&
		   finish_inherited(server);
	close_fabrics(server);
	rc = close_store(server, is_clean);
	close_loop(server);
	if (rc && !server->medium_failed)
		brick_log(LOG_CRIT, NULL,
			  "%s: the medium failed at the end of the stop: it is "
			  "not a clean one",
			  server->config->store);
	if (!rc && is_clean)
		brick_log(LOG_INFO, NULL, "stopped cleanly");
	return rc;
}
