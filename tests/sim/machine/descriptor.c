// SPDX-License-Identifier: BSD-2-Clause
/*
 * Descriptors, and the system calls that make, use and wait for them. What is
 * not the world's goes to the system.
 */
#include "descriptor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "files.h"

#define FIRST_NUMBER (1 << 24)
#define NUMBERS	     4096
#define POLLER_MAX   256

/* A descriptor of a process: it goes with it. */
struct file {
	struct sim_belonging belonging;
	struct sim_descriptor d;
	struct sim_process *process;
};

struct counter {
	struct file file;
	uint64_t count;
};

struct signals {
	struct file file;
	uint32_t pending; /* by number */
};

struct timer {
	struct file file;
	struct sim_event due;
	bool is_due;
};

struct sim_poller {
	struct file file;
	uint32_t n;
	struct sim_descriptor *in[POLLER_MAX];
	struct sim_thread *sleeper;
};

static struct sim_descriptor *numbers[NUMBERS];

int __real_close(int fd);
ssize_t __real_read(int fd, void *buf, size_t len);
ssize_t __real_write(int fd, const void *buf, size_t len);
int __wrap_close(int fd);
ssize_t __wrap_read(int fd, void *buf, size_t len);
ssize_t __wrap_write(int fd, const void *buf, size_t len);
int __wrap_eventfd(unsigned int count, int flags);
int __wrap_signalfd(int fd, const sigset_t *mask, int flags);
int __wrap_timerfd_create(int clock, int flags);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
			   struct itimerspec *was);
int __wrap_epoll_create1(int flags);
int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int __wrap_epoll_wait(int epoll, struct epoll_event *out, int max,
		      int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_sigprocmask(int how, const sigset_t *set, sigset_t *old);
sighandler_t __real_signal(int number, sighandler_t handler);
sighandler_t __wrap_signal(int number, sighandler_t handler);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);

/* ---- numbers ----------------------------------------------------------- */

void sim_descriptor_open(struct sim_descriptor *d)
{
	uint32_t tries;

	for (tries = 0; tries < NUMBERS; tries++) {
		uint32_t number = (sim.newest_number + 1) % NUMBERS;

		sim.newest_number = number;
		if (numbers[number])
			continue;
		numbers[number] = d;
		d->number = FIRST_NUMBER + (int)number;
		return;
	}
	sim_die("too many descriptors");
}

static void leave_poller(struct sim_descriptor *d)
{
	struct sim_poller *poller = d->poller;

	if (!poller)
		return;
	d->poller = NULL;
	for (uint32_t i = 0; i < poller->n; i++) {
		if (poller->in[i] != d)
			continue;
		poller->in[i] = poller->in[--poller->n];
		return;
	}
}

void sim_descriptor_close(struct sim_descriptor *d)
{
	leave_poller(d);
	numbers[d->number - FIRST_NUMBER] = NULL;
}

static struct sim_descriptor *find(int fd)
{
	int at = fd - FIRST_NUMBER;

	return at >= 0 && at < NUMBERS ? numbers[at] : NULL;
}

void sim_descriptor_ready(struct sim_descriptor *d)
{
	if (d->reader)
		sim_wake(d->reader);
	if (d->poller && d->poller->sleeper)
		sim_wake(d->poller->sleeper);
}

/* ---- files: what a process has ------------------------------------------ */

static struct file *file_of(const struct sim_descriptor *d)
{
	return (struct file *)((char *)(uintptr_t)d - offsetof(struct file, d));
}

static bool counter_is_ready(const struct sim_descriptor *d)
{
	return ((const struct counter *)file_of(d))->count;
}

static bool signals_are_ready(const struct sim_descriptor *d)
{
	return ((const struct signals *)file_of(d))->pending;
}

static bool timer_is_ready(const struct sim_descriptor *d)
{
	return ((const struct timer *)file_of(d))->is_due;
}

static bool poller_is_ready(const struct sim_descriptor *d)
{
	const struct sim_poller *poller = (const struct sim_poller *)file_of(d);

	for (uint32_t i = 0; i < poller->n; i++)
		if (poller->in[i]->is_ready(poller->in[i]))
			return true;
	return false;
}

static void file_fini(struct file *file)
{
	if (file->d.is_ready == timer_is_ready)
		sim_cancel(&((struct timer *)file)->due);
	if (file->d.is_ready == poller_is_ready) {
		struct sim_poller *poller = (struct sim_poller *)file;

		while (poller->n)
			leave_poller(poller->in[0]);
	}
	sim_descriptor_close(&file->d);
	sim_free(file);
}

static void file_drop(struct sim_belonging *belonging)
{
	file_fini((struct file *)belonging);
}

static int file_open(struct file *file,
		     bool (*is_ready)(const struct sim_descriptor *d))
{
	if (!sim_current)
		sim_die("the world itself opens a descriptor");
	file->process = sim_current->process;
	file->belonging.drop = file_drop;
	file->d.is_ready = is_ready;
	LIST_INSERT_HEAD(&file->process->belongings, &file->belonging, link);
	sim_descriptor_open(&file->d);
	return file->d.number;
}

int __wrap_close(int fd)
{
	struct sim_descriptor *d = find(fd);
	struct file *file;

	if (!d)
		return sim_file_close(fd) ? 0 : __real_close(fd);
	file = file_of(d);
	LIST_REMOVE(&file->belonging, link);
	file_fini(file);
	return 0;
}

/* ---- counters, signals, timers ------------------------------------------- */

int __wrap_eventfd(unsigned int count, int flags)
{
	struct counter *counter = sim_alloc(sizeof(*counter));

	counter->count = count;
	return file_open(&counter->file, counter_is_ready);
}

int __wrap_signalfd(int fd, const sigset_t *mask, int flags)
{
	struct signals *signals = sim_alloc(sizeof(*signals));

	return file_open(&signals->file, signals_are_ready);
}

/* Which signals are blocked is nobody's business here. */
/* brickd takes away what catches faults; here that tells of which seed they are. */
sighandler_t __wrap_signal(int number, sighandler_t handler)
{
	return sim_current ? SIG_DFL : __real_signal(number, handler);
}

int __wrap_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return 0;
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return 0;
}

bool sim_process_signal(struct sim_process *process, int number)
{
	struct sim_belonging *b;
	bool is_heard = false;

	LIST_FOREACH(b, &process->belongings, link)
	{
		struct signals *signals = (struct signals *)b;

		if (b->drop != file_drop ||
		    signals->file.d.is_ready != signals_are_ready)
			continue;
		signals->pending |= 1U << number;
		sim_descriptor_ready(&signals->file.d);
		is_heard = true;
	}
	return is_heard;
}

static ssize_t read_signal(struct signals *signals, void *buf, size_t len)
{
	struct signalfd_siginfo info = { 0 };

	if (!signals->pending || len < sizeof(info)) {
		errno = EAGAIN;
		return -1;
	}
	info.ssi_signo = (uint32_t)__builtin_ctz(signals->pending);
	signals->pending &= signals->pending - 1;
	memcpy(buf, &info, sizeof(info));
	return sizeof(info);
}

ssize_t __wrap_read(int fd, void *buf, size_t len)
{
	struct sim_descriptor *d = find(fd);
	struct counter *counter;

	if (!d)
		return __real_read(fd, buf, len);
	if (d->is_ready == signals_are_ready)
		return read_signal((struct signals *)file_of(d), buf, len);
	counter = (struct counter *)file_of(d);
	if (d->is_ready != counter_is_ready || !counter->count) {
		errno = EAGAIN;
		return -1;
	}
	memcpy(buf, &counter->count, sizeof(counter->count));
	counter->count = 0;
	return sizeof(counter->count);
}

ssize_t __wrap_write(int fd, const void *buf, size_t len)
{
	struct sim_descriptor *d = find(fd);
	uint64_t more;

	if (!d && sim_file_append(fd, buf, len))
		return (ssize_t)len;
	if (!d || d->is_ready != counter_is_ready)
		return __real_write(fd, buf, len);
	memcpy(&more, buf, sizeof(more));
	((struct counter *)file_of(d))->count += more;
	sim_descriptor_ready(d);
	return (ssize_t)len;
}

static void timer_is_up(struct sim_event *event)
{
	struct timer *timer =
		(struct timer *)((char *)event - offsetof(struct timer, due));

	timer->is_due = true;
	sim_descriptor_ready(&timer->file.d);
}

int __wrap_timerfd_create(int clock, int flags)
{
	struct timer *timer = sim_alloc(sizeof(*timer));

	timer->due.fire = timer_is_up;
	return file_open(&timer->file, timer_is_ready);
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
			   struct itimerspec *was)
{
	struct timer *timer = (struct timer *)file_of(find(fd));
	uint64_t at_ns = (uint64_t)when->it_value.tv_sec * SIM_S +
			 (uint64_t)when->it_value.tv_nsec;

	timer->is_due = false;
	sim_cancel(&timer->due);
	if (at_ns)
		sim_schedule(&timer->due, at_ns);
	return 0;
}

/* ---- waiting ------------------------------------------------------------- */

int __wrap_epoll_create1(int flags)
{
	struct sim_poller *poller = sim_alloc(sizeof(*poller));

	return file_open(&poller->file, poller_is_ready);
}

int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	struct sim_poller *poller = (struct sim_poller *)file_of(find(epoll));
	struct sim_descriptor *d = find(fd);

	if (!d) {
		errno = EBADF;
		return -1;
	}
	if (op == EPOLL_CTL_DEL) {
		leave_poller(d);
	} else if (op == EPOLL_CTL_ADD) {
		if (poller->n == POLLER_MAX || d->poller)
			sim_die("a descriptor is waited for twice");
		d->poller = poller;
		d->data = event->data.ptr;
		poller->in[poller->n++] = d;
		sim_descriptor_ready(d);
	}
	return 0;
}

static uint64_t end_of(int timeout_ms)
{
	return timeout_ms < 0 ? SIM_NEVER
			      : sim.now_ns + (uint64_t)timeout_ms * SIM_MS;
}

static int take_ready(const struct sim_poller *poller, struct epoll_event *out,
		      int max)
{
	uint32_t first = poller->n ? (uint32_t)sim_below(poller->n) : 0;
	int n = 0;

	for (uint32_t i = 0; i < poller->n && n < max; i++) {
		const struct sim_descriptor *d =
			poller->in[(first + i) % poller->n];

		if (!d->is_ready(d))
			continue;
		out[n].events = EPOLLIN;
		out[n++].data.ptr = d->data;
	}
	return n;
}

int __wrap_epoll_wait(int epoll, struct epoll_event *out, int max,
		      int timeout_ms)
{
	struct sim_poller *poller = (struct sim_poller *)file_of(find(epoll));
	uint64_t until_ns = end_of(timeout_ms);
	int n;

	/* What a loop does in a round takes its time. */
	sim_yield();
	for (;;) {
		n = take_ready(poller, out, max);
		if (n || sim.now_ns >= until_ns)
			return n;
		poller->sleeper = sim_current;
		sim_sleep(until_ns);
		poller->sleeper = NULL;
	}
}

static int look(struct pollfd *fds, nfds_t n)
{
	int n_ready = 0;

	for (nfds_t i = 0; i < n; i++) {
		const struct sim_descriptor *d = find(fds[i].fd);

		fds[i].revents = d && d->is_ready(d) ? POLLIN : 0;
		n_ready += fds[i].revents != 0;
	}
	return n_ready;
}

static void set_reader(const struct pollfd *fds, nfds_t n,
		       struct sim_thread *reader)
{
	for (nfds_t i = 0; i < n; i++) {
		struct sim_descriptor *d = find(fds[i].fd);

		if (d)
			d->reader = reader;
	}
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	uint64_t until_ns = end_of(timeout_ms);
	int n_ready;

	sim_yield();
	for (;;) {
		n_ready = look(fds, n);
		if (n_ready || sim.now_ns >= until_ns)
			return n_ready;
		set_reader(fds, n, sim_current);
		sim_sleep(until_ns);
		set_reader(fds, n, NULL);
	}
}
