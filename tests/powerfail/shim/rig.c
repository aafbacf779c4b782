// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickd and libkfbrick in one process and one thread: what a worker thread
 * would do is done when it is given, the clock is counted, the fabric is
 * fabric.h's, and brickd's start-up test of the fabric is taken as passed.
 */
#include "rig.h"

#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "brickd/net/conn.h"
#include "brickd/net/devices.h"
#include "brickd/storage/flush.h"
#include "brickd/session/listen.h"
#include "brickd/net/selftest.h"
#include "brickd/server.h"
#include "brickd/base/work.h"
#include "fabric.h"
#include "initiator/lib/internal.h"

#define TICK_NS	   1000 /* each look at the clock takes so long */
#define SECOND_NS  1000000000
#define MS_NS	   1000000
#define URL	   "verbs://127.0.0.1:7"
#define LEASE_MS   3600000
#define TIMEOUT_MS 60000

static struct brick_server *server;
static enum pf_lie lie;
static uint64_t clock_ns = SECOND_NS;

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int __wrap_brick_worker_start(struct brick_worker *w);
void __wrap_brick_worker_stop(struct brick_worker *w);
void __wrap_brick_worker_submit(struct brick_worker *w,
				struct brick_work *work);
int __wrap_brick_selftest(struct brick_fabric *f, char *err, size_t err_len);
bool __real_brick_flush_try_now(struct brick_storage *s,
				const struct kfb_flush *flush,
				uint64_t begun_ns, int *error);
bool __wrap_brick_flush_try_now(struct brick_storage *s,
				const struct kfb_flush *flush,
				uint64_t begun_ns, int *error);
enum kfb_fate __real_kfb_fate_of(const struct kfb_fate_facts *facts);
enum kfb_fate __wrap_kfb_fate_of(const struct kfb_fate_facts *facts);
void __real_kfb_initiator_flush_answered(struct kfb_initiator_queue *q,
					 const struct kfb_outcome *outcome);
void __wrap_kfb_initiator_flush_answered(struct kfb_initiator_queue *q,
					 const struct kfb_outcome *outcome);
enum brick_placing __real_brick_placing_of(const struct kfb_scheme *scheme,
					   const char *folder,
					   const char *device);
enum brick_placing __wrap_brick_placing_of(const struct kfb_scheme *scheme,
					   const char *folder,
					   const char *device);
_Bool __real_kfb_flush_ticket_join(struct kfb_flush_ticket *ticket, __u32 index,
				   struct kfb_flush_queue *queue);
_Bool __wrap_kfb_flush_ticket_join(struct kfb_flush_ticket *ticket, __u32 index,
				   struct kfb_flush_queue *queue);

void pf_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

/* ---- what stands in for the system ------------------------------------- */

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	clock_ns += TICK_NS;
	ts->tv_sec = (time_t)(clock_ns / SECOND_NS);
	ts->tv_nsec = (long)(clock_ns % SECOND_NS);
	return 0;
}

/* Nobody else is there to wait for: the time passes, then look at all. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	pf_step();
	for (nfds_t i = 0; i < n; i++)
		fds[i].revents = fds[i].fd >= 0 ? POLLIN : 0;
	return (int)n;
}

int __wrap_brick_worker_start(struct brick_worker *w)
{
	pthread_mutex_init(&w->lock, NULL);
	w->started = true;
	return 0;
}

void __wrap_brick_worker_stop(struct brick_worker *w)
{
	if (w->started)
		pthread_mutex_destroy(&w->lock);
	w->started = false;
}

void __wrap_brick_worker_submit(struct brick_worker *w, struct brick_work *work)
{
	struct brick_work_list batch = STAILQ_HEAD_INITIALIZER(batch);

	STAILQ_INSERT_TAIL(&batch, work, link);
	w->run(w, &batch);
}

int __wrap_brick_selftest(struct brick_fabric *f, char *err, size_t err_len)
{
	return brick_device_add(f, f->info);
}

/* ---- who lies ---------------------------------------------------------- */

void pf_rig_wait(uint32_t ms)
{
	clock_ns += (uint64_t)ms * MS_NS;
}

enum kfb_fate __wrap_kfb_fate_of(const struct kfb_fate_facts *facts)
{
	return lie == PF_CLIENT_TRUSTS ? KFB_FATE_PLACED
				       : __real_kfb_fate_of(facts);
}

void __wrap_kfb_initiator_flush_answered(struct kfb_initiator_queue *q,
					 const struct kfb_outcome *outcome)
{
	if (lie == PF_CLIENT_MISTAKES)
		q->flush_ids[outcome->slot] = q->flush.last_id;
	__real_kfb_initiator_flush_answered(q, outcome);
}

enum brick_placing __wrap_brick_placing_of(const struct kfb_scheme *scheme,
					   const char *folder,
					   const char *device)
{
	return pf_world.is_placed
		       ? BRICK_PLACED_BEFORE_ACK
		       : __real_brick_placing_of(scheme, folder, device);
}

void pf_rig_lie(enum pf_lie l)
{
	lie = l;
}

bool __wrap_brick_flush_try_now(struct brick_storage *s,
				const struct kfb_flush *flush,
				uint64_t begun_ns, int *error)
{
	struct kfb_flush half = *flush;

	if (lie == PF_BRICK_ANSWERS) {
		*error = 0;
		return true;
	}
	if (lie == PF_BRICK_HALF && half.n_ranges > 1)
		half.n_ranges = 1;
	return __real_brick_flush_try_now(s, &half, begun_ns, error);
}

_Bool __wrap_kfb_flush_ticket_join(struct kfb_flush_ticket *ticket, __u32 index,
				   struct kfb_flush_queue *queue)
{
	if (lie == PF_CLIENT_SKIPS || (lie == PF_CLIENT_FIRST_QUEUE && index))
		return 0;
	return __real_kfb_flush_ticket_join(ticket, index, queue);
}

/* ---- brickd ------------------------------------------------------------ */

void pf_brick_run(void)
{
	struct brick_conn *c;

	if (!server)
		return;
	do {
		brick_listen_service(&server->net.fabrics[0]);
		TAILQ_FOREACH(c, &server->net.conns, link)
		brick_conn_kick(c);
		while (brick_conns_before_wait(&server->net))
			;
		brick_mailbox_deliver(&server->box);
	} while (!TAILQ_EMPTY(&server->net.kicked) ||
		 !STAILQ_EMPTY(&server->box.finished));
}

static void format_medium(void)
{
	const struct brick_store_format format = { .force = true };
	char err[BRICK_ERR_BYTES] = "";
	struct brick_media *m;

	if (brick_media_open("medium", NULL, &m, err, sizeof(err)) ||
	    brick_store_format(m, &format, err, sizeof(err)))
		pf_die("cannot format the medium: %s", err);
	brick_media_close(m);
}

static void start_brickd(struct pf_rig *rig, const struct pf_platform *platform)
{
	char err[BRICK_ERR_BYTES] = "";
	struct brick_config *c = calloc(1, sizeof(*c));
	sigset_t mask;

	if (!c)
		abort();
	sigprocmask(SIG_SETMASK, NULL, &mask);
	brick_config_init(c);
	c->auth = BRICK_AUTH_NONE;
	c->ddio = platform->declared_off ? BRICK_DDIO_OFF : BRICK_DDIO_ON;
	c->limits.lease_ms = LEASE_MS;
	if (brick_config_set_store(c, "/medium", err, sizeof(err)) ||
	    brick_config_add_listen(c, URL, err, sizeof(err)) ||
	    brick_config_check(c, err, sizeof(err)))
		pf_die("settings: %s", err);
	rig->config = c;
	rig->server = calloc(1, sizeof(*rig->server));
	if (!rig->server)
		abort();
	brick_log_set_level(LOG_ERR);
	if (brick_server_start(rig->server, c, err, sizeof(err)))
		pf_die("brickd does not start: %s", err);
	/* It has blocked what ends this program. */
	sigprocmask(SIG_SETMASK, &mask, NULL);
	server = rig->server;
}

static void stop_brickd(struct pf_rig *rig)
{
	struct brick_server *s = rig->server;

	pf_brick_run();
	server = NULL;
	brick_server_stop(s);
	brick_config_fini(rig->config);
	free(rig->config);
	free(s);
}

/* ---- the client -------------------------------------------------------- */

static void connect_client(struct pf_rig *rig, uint32_t queues, bool retains)
{
	const struct kfbrick_config config = {
		.size = sizeof(config),
		.brick = URL,
		.timeout_ms = TIMEOUT_MS,
		.reconnect_ms = TIMEOUT_MS,
		.queue_depth = 64,
		.queues = queues,
		.retain_bytes = retains ? KFBRICK_RETAIN_MIN_BYTES : 0,
	};
	struct kfb_piece piece;

	if (kfbrick_connect(&config, &rig->k))
		pf_die("connect: %s", kfbrick_error(rig->k));
	if (kfbrick_alloc(rig->k, 0, PF_BLOCKS) ||
	    kfbrick_map(rig->k, 0, PF_BLOCKS,
			KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE, &rig->mapping))
		pf_die("blocks: %s", kfbrick_error(rig->k));
	for (uint32_t i = 0; i < PF_BLOCKS; i++) {
		uint64_t va = (uint64_t)i << KFB_BLOCK_SHIFT;

		if (kfb_blockmap_split(&rig->k->map, va, PF_AREA, true, &piece))
			pf_die("block %u is not mapped", i);
		rig->at[i] = (uint8_t *)(uintptr_t)piece.raddr;
	}
	while (rig->k->core.client.n_used < queues)
		kfbl_progress(rig->k);
}

void pf_rig_start(struct pf_rig *rig, const struct pf_platform *platform,
		  uint32_t queues, bool retains, uint64_t seed,
		  uint32_t drain_permille)
{
	if (sodium_init() < 0)
		pf_die("libsodium does not start");
	lie = PF_HONEST;
	pf_medium_init(platform);
	pf_world_init(seed, drain_permille);
	pf_world.is_placed = platform->placed;
	format_medium();
	start_brickd(rig, platform);
	connect_client(rig, queues, retains);
}

void pf_rig_stop(struct pf_rig *rig)
{
	pf_rig_lie(PF_HONEST);
	kfbrick_close(rig->k);
	stop_brickd(rig);
	pf_medium_fini();
}
