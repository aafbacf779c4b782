// SPDX-License-Identifier: BSD-2-Clause
/*
 * Event queues: requests, connections made, refused and ended. A program may
 * wait for nothing else, while its peer reads and writes its memory: whoever
 * reads a queue, or sleeps in it, moves the data of the endpoints that leave
 * that to their user.
 *
 * Context: any thread.
 * Locking: eps_lock guards the list of endpoints and is taken before theirs;
 * lock guards the events and is a leaf.
 */
#include <stdlib.h>
#include <string.h>

#include "impl.h"

struct stcp_event *stcp_event_alloc(uint32_t kind, fid_t fid, const void *data,
				    size_t data_bytes)
{
	struct stcp_event *event = calloc(1, sizeof(*event) + data_bytes);

	if (!event)
		return NULL;
	event->kind = kind;
	event->fid = fid;
	event->context = fid->context;
	event->data_bytes = data_bytes;
	if (data && data_bytes)
		memcpy(event->data, data, data_bytes);
	return event;
}

static void event_free(struct stcp_event *event)
{
	if (event && event->info) {
		stcp_request_free(stcp_container_of(event->info->handle,
						    struct stcp_request, fid));
		fi_freeinfo(event->info);
	}
	free(event);
}

static bool is_of_endpoint(const struct stcp_event *event)
{
	return event->fid->fclass == FI_CLASS_EP;
}

void stcp_eq_add(struct stcp_eq *eq, struct stcp_event *event)
{
	pthread_mutex_lock(&eq->lock);
	TAILQ_INSERT_TAIL(&eq->events, event, link);
	if (is_of_endpoint(event))
		LIST_INSERT_HEAD(&stcp_container_of(event->fid, struct stcp_ep,
						    fid.fid)
					  ->own_events,
				 event, own_link);
	eq->n_events++;
	stcp_wait_signal(&eq->wait);
	pthread_mutex_unlock(&eq->lock);
}

bool stcp_eq_holds(struct stcp_eq *eq, unsigned int n)
{
	bool holds;

	pthread_mutex_lock(&eq->lock);
	holds = eq->n_events >= n;
	pthread_mutex_unlock(&eq->lock);
	return holds;
}

/* Takes an event out of the queue, whose lock the caller holds. */
static void take_event(struct stcp_eq *eq, struct stcp_event *event)
{
	TAILQ_REMOVE(&eq->events, event, link);
	if (is_of_endpoint(event))
		LIST_REMOVE(event, own_link);
	eq->n_events--;
}

/*
 * Thousands of endpoints may end at a time: each looks at what is its own. A passive one
 * goes once: all that is in the queue is looked at.
 */
void stcp_eq_purge(struct stcp_eq *eq, fid_t fid)
{
	struct stcp_ep *ep =
		fid->fclass == FI_CLASS_EP
			? stcp_container_of(fid, struct stcp_ep, fid.fid)
			: NULL;
	struct stcp_event *event, *next;

	pthread_mutex_lock(&eq->lock);
	event = ep ? LIST_FIRST(&ep->own_events) : TAILQ_FIRST(&eq->events);
	for (; event; event = next) {
		next = ep ? LIST_NEXT(event, own_link)
			  : TAILQ_NEXT(event, link);
		if (event->fid != fid)
			continue;
		take_event(eq, event);
		event_free(event);
	}
	pthread_mutex_unlock(&eq->lock);
}

void stcp_eq_bind(struct stcp_ep *ep, struct stcp_eq *eq)
{
	ep->eq = eq;
	atomic_fetch_add(&eq->refs, 1);
	if (!ep->domain->manual)
		return;
	pthread_mutex_lock(&eq->eps_lock);
	LIST_INSERT_HEAD(&eq->eps, ep, eq_link);
	pthread_mutex_unlock(&eq->eps_lock);
}

void stcp_eq_unbind(struct stcp_ep *ep)
{
	struct stcp_eq *eq = ep->eq;

	if (ep->domain->manual) {
		pthread_mutex_lock(&eq->eps_lock);
		LIST_REMOVE(ep, eq_link);
		pthread_mutex_unlock(&eq->eps_lock);
	}
	stcp_eq_purge(eq, &ep->fid.fid);
	atomic_fetch_sub(&eq->refs, 1);
}

int stcp_eq_trywait(struct stcp_eq *eq)
{
	int rc = -FI_EAGAIN;

	pthread_mutex_lock(&eq->lock);
	if (TAILQ_EMPTY(&eq->events)) {
		stcp_wait_arm(&eq->wait);
		rc = 0;
	}
	pthread_mutex_unlock(&eq->lock);
	return rc;
}

/* Under the lock; what the buffer has no room for is left out. */
static ssize_t deliver_event(struct stcp_eq *eq, struct stcp_event *event,
			     uint32_t *kind, void *buf, size_t len,
			     uint64_t flags)
{
	struct fi_eq_cm_entry entry = { .fid = event->fid,
					.info = event->info };
	size_t data = event->data_bytes;

	if (len < sizeof(entry))
		return -FI_ETOOSMALL;
	if (data > len - sizeof(entry))
		data = len - sizeof(entry);
	memcpy(buf, &entry, sizeof(entry));
	memcpy((uint8_t *)buf + sizeof(entry), event->data, data);
	*kind = event->kind;
	if (!(flags & FI_PEEK)) {
		take_event(eq, event);
		event->info = NULL;
		event_free(event);
	}
	return (ssize_t)(sizeof(entry) + data);
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *kind, void *buf,
		       size_t len, uint64_t flags)
{
	struct stcp_eq *eq = stcp_container_of(fid, struct stcp_eq, fid);
	struct stcp_event *event;
	struct stcp_ep *ep;
	ssize_t n;

	if (stcp_is_inherited(eq->fabric))
		return -FI_EOPBADSTATE;
	pthread_mutex_lock(&eq->lock);
	event = TAILQ_FIRST(&eq->events);
	if (!event)
		n = -FI_EAGAIN;
	else if (!event->kind)
		n = -FI_EAVAIL;
	else
		n = deliver_event(eq, event, kind, buf, len, flags);
	pthread_mutex_unlock(&eq->lock);
	if (n != -FI_EAGAIN)
		return n;
	/*
	 * Look at the sockets of those whose data the reader moves. An end that
	 * is found is told the next time: who has emptied its completion queue
	 * before this has to see what came before the end.
	 */
	pthread_mutex_lock(&eq->eps_lock);
	LIST_FOREACH(ep, &eq->eps, eq_link)
	stcp_ep_look(ep);
	pthread_mutex_unlock(&eq->eps_lock);
	return n;
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *entry,
			  uint64_t flags)
{
	struct stcp_eq *eq = stcp_container_of(fid, struct stcp_eq, fid);
	struct stcp_event *event;

	if (stcp_is_inherited(eq->fabric))
		return -FI_EOPBADSTATE;
	pthread_mutex_lock(&eq->lock);
	event = TAILQ_FIRST(&eq->events);
	if (!event || event->kind) {
		pthread_mutex_unlock(&eq->lock);
		return -FI_EAGAIN;
	}
	if (!(flags & FI_PEEK)) {
		take_event(eq, event);
		event_free(eq->last_error);
		eq->last_error = event;
	}
	entry->fid = event->fid;
	entry->context = event->context;
	entry->data = 0;
	entry->err = event->err;
	entry->prov_errno = event->prov_errno;
	/*
	 * The caller's own buffer, of which nobody could tell before 1.5; or
	 * ours until the next error is read.
	 */
	if (FI_VERSION_GE(eq->fabric->fid.api_version, FI_VERSION(1, 5)) &&
	    entry->err_data && entry->err_data_size) {
		if (entry->err_data_size > event->data_bytes)
			entry->err_data_size = event->data_bytes;
		memcpy(entry->err_data, event->data, entry->err_data_size);
	} else {
		entry->err_data = event->data_bytes ? event->data : NULL;
		entry->err_data_size = event->data_bytes;
	}
	pthread_mutex_unlock(&eq->lock);
	return sizeof(*entry);
}

/* clang-format off */
STCP_NOT_DONE(static ssize_t, no_eq_write, struct fid_eq *eq, uint32_t kind,
	      const void *buf, size_t len, uint64_t flags)
/* clang-format on */

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *kind, void *buf,
			size_t len, int timeout, uint64_t flags)
{
	struct stcp_eq *eq = stcp_container_of(fid, struct stcp_eq, fid);
	uint64_t until_ms = stcp_wait_until(timeout);
	ssize_t n;
	int rc;

	for (;;) {
		uint64_t now_ms = stcp_now_ms();

		n = eq_read(fid, kind, buf, len, flags);
		if (n != -FI_EAGAIN)
			return n;
		/* What a peer moves without an end is no reason to stay. */
		if (now_ms >= until_ms)
			return -FI_EAGAIN;
		if (stcp_eq_trywait(eq))
			continue;
		rc = stcp_wait_poll(&eq->wait, now_ms, until_ms);
		if (rc)
			return rc;
	}
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno,
			       const void *err_data, char *buf, size_t len)
{
	return stcp_copy_text(prov_errno, buf, len);
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct stcp_eq *eq = stcp_container_of(fid, struct stcp_eq, fid.fid);

	return stcp_wait_control(&eq->wait, command, arg);
}

static int eq_close(struct fid *fid)
{
	struct stcp_eq *eq = stcp_container_of(fid, struct stcp_eq, fid.fid);
	struct stcp_event *event;

	if (stcp_is_inherited(eq->fabric)) {
		stcp_wait_fini(&eq->wait);
		return 0;
	}
	if (atomic_load(&eq->refs))
		return -FI_EBUSY;
	while ((event = TAILQ_FIRST(&eq->events))) {
		take_event(eq, event);
		event_free(event);
	}
	event_free(eq->last_error);
	stcp_wait_fini(&eq->wait);
	pthread_mutex_destroy(&eq->lock);
	pthread_mutex_destroy(&eq->eps_lock);
	atomic_fetch_sub(&eq->fabric->refs, 1);
	free(eq);
	return 0;
}

static struct fi_ops eq_fid_ops =
	STCP_FID_OPS(eq_close, stcp_no_bind, eq_control, stcp_no_ops_open);

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = no_eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

int stcp_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		 struct fid_eq **out, void *context)
{
	struct stcp_eq *eq = calloc(1, sizeof(*eq));
	int rc;

	if (!eq)
		return -FI_ENOMEM;
	/* Its endpoints' domains are not known yet. */
	rc = stcp_wait_init(&eq->wait, attr ? attr->wait_obj : FI_WAIT_UNSPEC,
			    true);
	if (rc) {
		free(eq);
		return rc;
	}
	stcp_fid_init(&eq->fid.fid, FI_CLASS_EQ, &eq_fid_ops, context);
	eq->fid.ops = &eq_ops;
	eq->fabric = stcp_container_of(fabric, struct stcp_fabric, fid);
	atomic_fetch_add(&eq->fabric->refs, 1);
	pthread_mutex_init(&eq->lock, NULL);
	pthread_mutex_init(&eq->eps_lock, NULL);
	LIST_INIT(&eq->eps);
	TAILQ_INIT(&eq->events);
	*out = &eq->fid;
	return 0;
}
