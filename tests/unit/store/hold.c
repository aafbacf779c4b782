// SPDX-License-Identifier: BSD-2-Clause
/* Interleavings that a test forces. */
#include "hold.h"

#include <stdlib.h>
#include <time.h>

#define MS_PER_S   1000
#define NS_PER_MS  1000000
#define NS_PER_S   1000000000
#define FOREVER_MS 60000

void hold_init(struct hold *h)
{
	(void)pthread_mutex_init(&h->lock, NULL);
	(void)pthread_cond_init(&h->changed, NULL);
	h->number = 0;
	h->is_held = false;
}

void hold_fini(struct hold *h)
{
	(void)pthread_cond_destroy(&h->changed);
	(void)pthread_mutex_destroy(&h->lock);
}

void hold_arm(struct hold *h, unsigned int number, enum hold_moment moment)
{
	pthread_mutex_lock(&h->lock);
	h->number = number;
	h->moment = moment;
	pthread_mutex_unlock(&h->lock);
}

void hold_wait(struct hold *h)
{
	pthread_mutex_lock(&h->lock);
	while (!h->is_held)
		pthread_cond_wait(&h->changed, &h->lock);
	pthread_mutex_unlock(&h->lock);
}

void hold_release(struct hold *h)
{
	pthread_mutex_lock(&h->lock);
	h->number = 0;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

void hold_point(struct hold *h, unsigned int number, enum hold_moment moment)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	if (number == h->number && moment == h->moment) {
		h->is_held = true;
		pthread_cond_broadcast(&h->changed);
		while (h->number)
			pthread_cond_wait(&h->changed, &h->lock);
		h->is_held = false;
	}
	pthread_mutex_unlock(&h->lock);
}

static void *run(void *arg)
{
	struct worker *w = arg;

	w->error = w->work(w->arg);
	return NULL;
}

void worker_start(struct worker *w)
{
	if (pthread_create(&w->id, NULL, run, w))
		abort();
}

bool worker_ends_in(struct worker *w, unsigned int ms)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_REALTIME, &at);
	at.tv_nsec += (long)(ms % MS_PER_S) * NS_PER_MS;
	at.tv_sec += ms / MS_PER_S + at.tv_nsec / NS_PER_S;
	at.tv_nsec %= NS_PER_S;
	return !pthread_timedjoin_np(w->id, NULL, &at);
}

void worker_join(struct worker *w)
{
	if (!worker_ends_in(w, FOREVER_MS))
		abort();
}
