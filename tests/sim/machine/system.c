// SPDX-License-Identifier: BSD-2-Clause
/*
 * What else the programs ask of the system: time, threads, random numbers, the
 * names of hosts.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "power.h"
#include "process.h"

/* A look at the clock takes so long: nobody can look for ever at one moment. */
#define LOOK_NS 30

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
void __wrap_randombytes_buf(void *buf, size_t len);
ssize_t __wrap_getrandom(void *buf, size_t len, unsigned int flags);
uint32_t __wrap_randombytes_random(void);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr,
			  void *(*main)(void *arg), void *arg);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_setname_np(pthread_t thread, const char *name);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_signal(pthread_cond_t *cond);
int __wrap_pthread_cond_broadcast(pthread_cond_t *cond);
int __wrap_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out);
void __wrap_freeaddrinfo(struct addrinfo *info);
int __wrap_getnameinfo(const struct sockaddr *addr, socklen_t addr_len,
		       char *host, socklen_t host_len, char *service,
		       socklen_t service_len, int flags);

/* ---- time and chance ----------------------------------------------------- */

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t ns;

	sim.now_ns += LOOK_NS;
	ns = sim.now_ns + (id == CLOCK_REALTIME ? sim.wall_ns : 0);
	ts->tv_sec = (time_t)(ns / SIM_S);
	ts->tv_nsec = (long)(ns % SIM_S);
	return 0;
}

void __wrap_randombytes_buf(void *buf, size_t len)
{
	uint8_t *to = buf;

	while (len--)
		*to++ = (uint8_t)sim_below(256);
}

uint32_t __wrap_randombytes_random(void)
{
	return (uint32_t)sim_below(UINT64_C(1) << 32);
}

ssize_t __wrap_getrandom(void *buf, size_t len, unsigned int flags)
{
	__wrap_randombytes_buf(buf, len);
	return (ssize_t)len;
}

/* ---- threads ------------------------------------------------------------- */

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr,
			  void *(*main)(void *arg), void *arg)
{
	*out = (pthread_t)(uintptr_t)sim_thread_start(sim_current->process,
						      main, arg);
	return 0;
}

/* Those that have ended stay until their process does. */
int __wrap_pthread_join(pthread_t thread, void **result)
{
	struct sim_thread *other = (struct sim_thread *)(uintptr_t)thread;

	while (!other->has_ended) {
		sim_current->waits_for = other;
		sim_sleep(SIM_NEVER);
	}
	sim_current->waits_for = NULL;
	return 0;
}

int __wrap_pthread_setname_np(pthread_t thread, const char *name)
{
	return 0;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	sim_may_yield();
	while (pthread_mutex_trylock(mutex)) {
		sim_current->waits_for = mutex;
		sim_sleep(SIM_NEVER);
	}
	if (sim_current)
		sim_current->waits_for = NULL;
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int rc = __real_pthread_mutex_unlock(mutex);

	if (sim_current) {
		sim_wake_waiting(mutex, false);
		sim_may_yield();
	}
	return rc;
}

int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	sim_current->waits_for = cond;
	__real_pthread_mutex_unlock(mutex);
	sim_wake_waiting(mutex, false);
	while (sim_current->waits_for == cond)
		sim_sleep(SIM_NEVER);
	return __wrap_pthread_mutex_lock(mutex);
}

int __wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	sim_wake_waiting(cond, true);
	return 0;
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	sim_wake_waiting(cond, false);
	return 0;
}

/* ---- names of hosts -------------------------------------------------------- */

int __wrap_getaddrinfo(const char *node, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out)
{
	static struct sockaddr_in loopback = { .sin_family = AF_INET };
	static struct addrinfo info;

	loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (service)
		loopback.sin_port = htons((uint16_t)strtoul(service, NULL, 10));
	info = (struct addrinfo){ .ai_family = AF_INET,
				  .ai_socktype = SOCK_STREAM,
				  .ai_addrlen = sizeof(loopback),
				  .ai_addr = (struct sockaddr *)&loopback };
	*out = &info;
	return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *info)
{
}

int __wrap_getnameinfo(const struct sockaddr *addr, socklen_t addr_len,
		       char *host, socklen_t host_len, char *service,
		       socklen_t service_len, int flags)
{
	if (host && host_len)
		(void)strncpy(host, "127.0.0.1", host_len - 1);
	if (host && host_len)
		host[host_len - 1] = '\0';
	if (service && service_len)
		*service = '\0';
	return 0;
}
