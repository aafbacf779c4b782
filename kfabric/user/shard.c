// SPDX-License-Identifier: BSD-2-Clause
/*
 * The threads that move data. Each has an epoll and the connections that it
 * was given, for ever; they run while a fabric is open.
 *
 * Lifetime: a source is taken out by its own shard's thread between two
 * batches of events, so that none of a batch can be about one that is gone.
 *
 * Locking: shards_lock guards their number of users; a shard's lock its calls
 * and deadlines, and is a leaf.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "impl.h"
#include "stcp.h"

#define SHARDS_MAX  4
#define EVENTS_MAX  64
#define TICK_MS	    100
#define STACK_BYTES (256 * 1024)

/* Something to do in the shard's thread, for one who waits for it. */
struct call {
	void (*function)(void *arg);
	void *arg;
	bool done;
	TAILQ_ENTRY(call) link;
};

struct stcp_shard {
	pthread_t thread;
	int epoll_fd;
	int wake_fd;
	pthread_mutex_t lock;
	pthread_cond_t called;
	TAILQ_HEAD(, call) calls;
	TAILQ_HEAD(, stcp_source) hurried;
	bool stop;
	uint8_t stage[STCP_STAGE_BYTES];
};

static pthread_mutex_t shards_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int n_users;
static unsigned int n_shards;
static atomic_uint next_shard;
static struct stcp_shard *shards[SHARDS_MAX];
static atomic_uint busy_poll_us;
static atomic_uint generation;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t stcp_now_ms(void)
{
	return now_us() / 1000;
}

static void wake_thread(struct stcp_shard *shard)
{
	uint64_t one = 1;

	(void)!write(shard->wake_fd, &one, sizeof(one));
}

static bool do_calls(struct stcp_shard *shard)
{
	struct call *call;
	bool stop;

	pthread_mutex_lock(&shard->lock);
	while ((call = TAILQ_FIRST(&shard->calls))) {
		TAILQ_REMOVE(&shard->calls, call, link);
		pthread_mutex_unlock(&shard->lock);
		call->function(call->arg);
		pthread_mutex_lock(&shard->lock);
		call->done = true;
		pthread_cond_broadcast(&shard->called);
	}
	stop = shard->stop;
	pthread_mutex_unlock(&shard->lock);
	return !stop;
}

static void end_late(struct stcp_shard *shard)
{
	uint64_t now_ms = stcp_now_ms();
	struct stcp_source *source;

	for (;;) {
		pthread_mutex_lock(&shard->lock);
		TAILQ_FOREACH(source, &shard->hurried, hurry_link)
		if (source->deadline_ms <= now_ms)
			break;
		if (source) {
			TAILQ_REMOVE(&shard->hurried, source, hurry_link);
			source->deadline_ms = 0;
		}
		pthread_mutex_unlock(&shard->lock);
		if (!source)
			return;
		source->late(source);
	}
}

void stcp_set_busy_poll(unsigned int us)
{
	atomic_store(&busy_poll_us,
		     us < STCP_BUSY_POLL_MAX_US ? us : STCP_BUSY_POLL_MAX_US);
}

/* Looks for a while, if the shard is to; then sleeps. */
static int next_events(struct stcp_shard *shard, struct epoll_event *events)
{
	uint64_t us = atomic_load(&busy_poll_us);
	uint64_t until_us = us ? now_us() + us : 0;
	bool is_hurried;
	int n = 0;

	while (us && !n && now_us() < until_us)
		n = epoll_wait(shard->epoll_fd, events, EVENTS_MAX, 0);
	if (n)
		return n;
	pthread_mutex_lock(&shard->lock);
	is_hurried = !TAILQ_EMPTY(&shard->hurried);
	pthread_mutex_unlock(&shard->lock);
	return epoll_wait(shard->epoll_fd, events, EVENTS_MAX,
			  is_hurried ? TICK_MS : -1);
}

static void *run_shard(void *arg)
{
	struct stcp_shard *shard = arg;
	struct epoll_event events[EVENTS_MAX];
	uint64_t tick_ms = 0, count;

	while (do_calls(shard)) {
		int n = next_events(shard, events);

		for (int i = 0; i < n; i++) {
			struct stcp_source *source = events[i].data.ptr;

			if (source)
				source->ready(source, events[i].events);
			else
				(void)!read(shard->wake_fd, &count,
					    sizeof(count));
		}
		if (stcp_now_ms() - tick_ms < TICK_MS)
			continue;
		tick_ms = stcp_now_ms();
		end_late(shard);
	}
	return NULL;
}

static void shard_free(struct stcp_shard *shard)
{
	if (shard->epoll_fd >= 0)
		close(shard->epoll_fd);
	if (shard->wake_fd >= 0)
		close(shard->wake_fd);
	pthread_cond_destroy(&shard->called);
	pthread_mutex_destroy(&shard->lock);
	free(shard);
}

static int shard_start(struct stcp_shard **out)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct stcp_shard *shard = calloc(1, sizeof(*shard));
	pthread_attr_t attr;
	sigset_t all, old;
	int rc = 0;

	if (!shard)
		return -FI_ENOMEM;
	pthread_mutex_init(&shard->lock, NULL);
	pthread_cond_init(&shard->called, NULL);
	TAILQ_INIT(&shard->calls);
	TAILQ_INIT(&shard->hurried);
	shard->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	shard->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (shard->epoll_fd < 0 || shard->wake_fd < 0 ||
	    epoll_ctl(shard->epoll_fd, EPOLL_CTL_ADD, shard->wake_fd, &event))
		rc = -errno;
	if (!rc) {
		/*
		 * Signals are for the program's own threads. A fault is the thread's
		 * own: it must reach the program's handler.
		 */
		sigfillset(&all);
		sigdelset(&all, SIGBUS);
		sigdelset(&all, SIGSEGV);
		sigdelset(&all, SIGILL);
		sigdelset(&all, SIGFPE);
		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, STACK_BYTES);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		rc = -pthread_create(&shard->thread, &attr, run_shard, shard);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		pthread_attr_destroy(&attr);
	}
	if (rc)
		shard_free(shard);
	else
		*out = shard;
	return rc;
}

static void stop_all(void)
{
	while (n_shards) {
		struct stcp_shard *shard = shards[--n_shards];

		pthread_mutex_lock(&shard->lock);
		shard->stop = true;
		pthread_mutex_unlock(&shard->lock);
		wake_thread(shard);
		pthread_join(shard->thread, NULL);
		shard_free(shard);
	}
}

unsigned int stcp_generation(void)
{
	return atomic_load(&generation);
}

/*
 * In the child of fork(), whose only thread is its caller: none of the threads
 * is there. Their descriptors are closed; their memory stays, as objects of the
 * parent point to it.
 */
static void child_forked(void)
{
	atomic_fetch_add(&generation, 1);
	pthread_mutex_init(&shards_lock, NULL);
	while (n_shards) {
		n_shards--;
		close(shards[n_shards]->epoll_fd);
		close(shards[n_shards]->wake_fd);
	}
	n_users = 0;
}

static void notice_forks(void)
{
	(void)pthread_atfork(NULL, NULL, child_forked);
}

int stcp_shards_get(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int wanted = 1;
	int rc = 0;

	if (cpus > 1)
		wanted = cpus < SHARDS_MAX ? (unsigned int)cpus : SHARDS_MAX;
	pthread_once(&fork_once, notice_forks);
	pthread_mutex_lock(&shards_lock);
	while (!rc && n_shards < wanted && !n_users) {
		rc = shard_start(&shards[n_shards]);
		n_shards += !rc;
	}
	if (!rc)
		n_users++;
	else
		stop_all();
	pthread_mutex_unlock(&shards_lock);
	return rc;
}

void stcp_shards_put(void)
{
	pthread_mutex_lock(&shards_lock);
	if (!--n_users)
		stop_all();
	pthread_mutex_unlock(&shards_lock);
}

void stcp_shard_assign(struct stcp_source *source)
{
	source->shard = shards[atomic_fetch_add(&next_shard, 1) % n_shards];
}

int stcp_shard_watch(struct stcp_source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return epoll_ctl(source->shard->epoll_fd, EPOLL_CTL_ADD, source->fd,
			 &event)
		       ? -errno
		       : 0;
}

void stcp_shard_change(struct stcp_source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	epoll_ctl(source->shard->epoll_fd, EPOLL_CTL_MOD, source->fd, &event);
}

void stcp_shard_call(struct stcp_shard *shard, void (*function)(void *arg),
		     void *arg)
{
	struct call call = { .function = function, .arg = arg };

	pthread_mutex_lock(&shard->lock);
	TAILQ_INSERT_TAIL(&shard->calls, &call, link);
	wake_thread(shard);
	while (!call.done)
		pthread_cond_wait(&shard->called, &shard->lock);
	pthread_mutex_unlock(&shard->lock);
}

void stcp_shard_mute(struct stcp_source *source)
{
	stcp_shard_deadline(source, 0);
	epoll_ctl(source->shard->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
}

static void forget_thread(void *arg)
{
	stcp_shard_mute(arg);
}

void stcp_shard_forget(struct stcp_source *source)
{
	stcp_shard_call(source->shard, forget_thread, source);
}

void stcp_shard_deadline(struct stcp_source *source, uint64_t ms)
{
	struct stcp_shard *shard = source->shard;

	pthread_mutex_lock(&shard->lock);
	if (source->deadline_ms)
		TAILQ_REMOVE(&shard->hurried, source, hurry_link);
	source->deadline_ms = ms ? stcp_now_ms() + ms : 0;
	if (ms)
		TAILQ_INSERT_TAIL(&shard->hurried, source, hurry_link);
	pthread_mutex_unlock(&shard->lock);
	if (ms)
		wake_thread(shard);
}

uint8_t *stcp_shard_stage(struct stcp_source *source)
{
	return source->shard->stage;
}
