// SPDX-License-Identifier: BSD-2-Clause
/*
 * Passive endpoints: taking connections, and the requests on them until they
 * are whole. Who promises a request and does not send it costs one descriptor
 * for ten seconds, and there are bounds on how many, in all and per address. At
 * a bound the oldest one gives its place to the newest: nobody who sends at once
 * what there is to send is kept out by those who do not.
 *
 * Context: ready() and late() in the shard's thread, to which the list of
 * arriving requests belongs.
 * Lifetime: a request is the passive endpoint's while it arrives; then its
 * event's; then its user's, who ends it by fi_reject() or by closing the
 * endpoint that was made of it. One that is displaced stays in memory until the
 * listener's next event, as the batch of this one may have an event of its, too.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "impl.h"
#include "peer.h"
#include "stcp.h"

#define ACCEPTS_MAX 16 /* in a row */
#define BACKLOG	    256

void stcp_request_free(struct stcp_request *request)
{
	if (request->fabric) {
		pthread_mutex_lock(&request->fabric->lock);
		LIST_REMOVE(request, link);
		pthread_mutex_unlock(&request->fabric->lock);
	}
	if (request->source.fd >= 0)
		close(request->source.fd);
	free(request);
}

struct stcp_request *stcp_request_find(struct stcp_fabric *fabric, fid_t handle)
{
	struct stcp_request *request;

	pthread_mutex_lock(&fabric->lock);
	LIST_FOREACH(request, &fabric->requests, link)
	if (&request->fid == handle)
		break;
	pthread_mutex_unlock(&fabric->lock);
	return request;
}

struct stcp_pep *stcp_pep_find(struct stcp_fabric *fabric, fid_t handle)
{
	struct stcp_pep *pep;

	pthread_mutex_lock(&fabric->lock);
	LIST_FOREACH(pep, &fabric->peps, link)
	if (&pep->fid.fid == handle)
		break;
	pthread_mutex_unlock(&fabric->lock);
	return pep;
}

/* The request is not arriving any more. Context: the shard's thread. */
static void settle_request(struct stcp_request *request)
{
	struct stcp_pep *pep = request->pep;

	stcp_shard_mute(&request->source);
	TAILQ_REMOVE(&pep->arriving, request, arriving_link);
	pep->n_arriving--;
	request->pep = NULL;
}

static atomic_bool tells_strays;
static atomic_uint_fast64_t n_strays;
static atomic_uint_fast64_t n_starved;

void stcp_tell_strays(bool tell)
{
	atomic_store(&tells_strays, tell);
}

uint64_t stcp_strays(void)
{
	return atomic_load(&n_strays);
}

uint64_t stcp_starved(void)
{
	return atomic_load(&n_starved);
}

static void drop_request(struct stcp_request *request, enum tcpw_violation why)
{
	const struct stcp_pep *pep = request->pep;
	struct stcp_event *event = NULL;

	if (why)
		atomic_fetch_add(&n_strays, 1);
	/* A user who wants to hears of a stray as of an error of its listener. */
	if (why && atomic_load(&tells_strays) &&
	    !stcp_eq_holds(pep->eq, STCP_TOLD_MAX))
		event = stcp_event_alloc(0, (fid_t)&pep->fid.fid, NULL, 0);
	if (event) {
		event->err = EPROTO;
		event->prov_errno = (int)why;
		stcp_eq_add(pep->eq, event);
	}
	settle_request(request);
	stcp_request_free(request);
}

/* Its memory stays for an event of this batch that may be about it. */
static void displace_request(struct stcp_request *request)
{
	struct stcp_pep *pep = request->pep;

	/* Counted and not told: there may be more of them than anybody reads. */
	atomic_fetch_add(&n_strays, 1);
	settle_request(request);
	close(request->source.fd);
	request->source.fd = -1;
	LIST_INSERT_HEAD(&pep->displaced, request, link);
}

static void free_displaced(struct stcp_pep *pep)
{
	struct stcp_request *request;

	while ((request = LIST_FIRST(&pep->displaced))) {
		LIST_REMOVE(request, link);
		stcp_request_free(request);
	}
}

static void request_late(struct stcp_source *source)
{
	drop_request(stcp_container_of(source, struct stcp_request, source),
		     TCPW_LATE);
}

/* A whole request becomes an event, if there is room for one. */
static void deliver_request(struct stcp_request *request)
{
	struct stcp_pep *pep = request->pep;
	struct stcp_event *event = NULL;
	struct fi_info *info = NULL;
	const uint8_t *data;
	uint32_t n;

	data = tcpw_cm_rx_data(&request->cm, &n);
	settle_request(request);
	if (!stcp_eq_holds(pep->eq, STCP_EVENTS_MAX))
		info = stcp_info_for_request(pep, request);
	if (info)
		event = stcp_event_alloc(FI_CONNREQ, &pep->fid.fid, data, n);
	if (!event) {
		fi_freeinfo(info);
		stcp_request_free(request);
		return;
	}
	request->fabric = pep->fabric;
	pthread_mutex_lock(&pep->fabric->lock);
	LIST_INSERT_HEAD(&pep->fabric->requests, request, link);
	pthread_mutex_unlock(&pep->fabric->lock);
	info->handle = &request->fid;
	event->info = info;
	stcp_eq_add(pep->eq, event);
}

static void request_ready(struct stcp_source *source, uint32_t events)
{
	struct stcp_request *request =
		stcp_container_of(source, struct stcp_request, source);
	uint8_t *to;
	uint32_t want;

	if (!request->pep)
		return;
	while ((want = tcpw_cm_rx_want(&request->cm, &to))) {
		ssize_t n = recv(source->fd, to, want, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0 || tcpw_cm_rx_fed(&request->cm, (uint32_t)n)) {
			drop_request(request, request->cm.violation);
			return;
		}
	}
	deliver_request(request);
}

static void request_arrived(struct stcp_pep *pep, struct stcp_request *request)
{
	struct stcp_request *other, *oldest = NULL;
	unsigned int from_there = 0;

	request->fid.fclass = FI_CLASS_CONNREQ;
	request->pep = pep;
	request->source.ready = request_ready;
	request->source.late = request_late;
	/* The listener's own, so that the list is one thread's. */
	request->source.shard = pep->source.shard;
	tcpw_cm_rx_init(&request->cm, false);
	/* At a bound the oldest goes: of this peer at its bound, else of all. */
	TAILQ_FOREACH(other, &pep->arriving, arriving_link)
	{
		if (!stcp_same_peer(&other->peer, &request->peer))
			continue;
		if (!from_there++)
			oldest = other;
	}
	if (from_there >= STCP_ARRIVING_PER_ADDRESS_MAX)
		displace_request(oldest);
	else if (pep->n_arriving >= STCP_ARRIVING_MAX)
		displace_request(TAILQ_FIRST(&pep->arriving));
	stcp_socket_tune(request->source.fd);
	if (stcp_shard_watch(&request->source, EPOLLIN)) {
		stcp_request_free(request);
		return;
	}
	TAILQ_INSERT_TAIL(&pep->arriving, request, arriving_link);
	pep->n_arriving++;
	stcp_shard_deadline(&request->source, STCP_CM_DEADLINE_MS);
	/* What has come with the connection takes no place from others. */
	request_ready(&request->source, EPOLLIN);
}

/*
 * What waits to be taken keeps the socket readable: the shard would look again at
 * once, for ever.
 */
static void stop_accepting(struct stcp_pep *pep, int err)
{
	struct stcp_event *event = NULL;

	atomic_fetch_add(&n_starved, 1);
	if (!pep->starves && atomic_load(&tells_strays) &&
	    !stcp_eq_holds(pep->eq, STCP_TOLD_MAX))
		event = stcp_event_alloc(0, (fid_t)&pep->fid.fid, NULL, 0);
	if (event) {
		event->err = err;
		stcp_eq_add(pep->eq, event);
	}
	pep->starves = true;
	stcp_shard_change(&pep->source, 0);
	stcp_shard_deadline(&pep->source, STCP_STARVED_MS);
}

static void accept_again(struct stcp_source *source)
{
	stcp_shard_change(source, EPOLLIN);
}

/* Return: 0, or why none can be taken now; EAGAIN: there is none. */
static int take_connection(struct stcp_pep *pep)
{
	struct stcp_request *request = calloc(1, sizeof(*request));
	socklen_t len = sizeof(request->peer);
	int err;

	if (!request)
		return ENOMEM;
	request->source.fd =
		accept4(pep->source.fd, (struct sockaddr *)&request->peer, &len,
			SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (request->source.fd < 0) {
		err = errno;
		free(request);
		return err;
	}
	pep->starves = false;
	request_arrived(pep, request);
	return 0;
}

static void pep_ready(struct stcp_source *source, uint32_t events)
{
	struct stcp_pep *pep =
		stcp_container_of(source, struct stcp_pep, source);
	int err = 0;

	free_displaced(pep);
	for (int i = 0; !err && i < ACCEPTS_MAX; i++)
		err = take_connection(pep);
	if (err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM)
		stop_accepting(pep, err);
}

static int pep_listen(struct fid_pep *fid)
{
	struct stcp_pep *pep = stcp_container_of(fid, struct stcp_pep, fid);

	if (!pep->eq)
		return -FI_ENOEQ;
	if (pep->source.fd < 0 || stcp_is_inherited(pep->fabric))
		return -FI_EOPBADSTATE;
	if (listen(pep->source.fd, BACKLOG))
		return -errno;
	pep->listens = true;
	return stcp_shard_watch(&pep->source, EPOLLIN);
}

static int pep_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct stcp_pep *pep = stcp_container_of(fid, struct stcp_pep, fid.fid);

	return stcp_socket_name(pep->source.fd, false, addr, addrlen);
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *param,
		      size_t paramlen)
{
	struct stcp_pep *pep = stcp_container_of(fid, struct stcp_pep, fid);
	struct stcp_request *request;
	uint8_t out[TCPW_CM_MAX];
	int n;

	if (stcp_is_inherited(pep->fabric))
		return -FI_EOPBADSTATE;
	request = stcp_request_find(pep->fabric, handle);
	/* One that an endpoint was made of is that one's to answer, and ends with it. */
	if (!request || request->has_endpoint)
		return -FI_EINVAL;
	n = tcpw_cm_encode(TCPW_CM_REJECT, stcp_our_order(), param,
			   (uint32_t)paramlen, out);
	/* A new socket has room for it; one that has not is lost anyway. */
	if (n > 0)
		(void)!send(request->source.fd, out, (size_t)n,
			    MSG_DONTWAIT | MSG_NOSIGNAL);
	stcp_request_free(request);
	return n < 0 ? n : 0;
}

/* Opens a socket with this name. */
static int open_listener(const struct sockaddr *addr, size_t addrlen)
{
	int one = 1, off = 0;
	int fd = socket(addr->sa_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (addr->sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off,
				 sizeof(off));
	if (bind(fd, addr, (socklen_t)addrlen)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

static int pep_setname(fid_t fid, void *addr, size_t addrlen)
{
	struct stcp_pep *pep = stcp_container_of(fid, struct stcp_pep, fid.fid);
	int fd;

	if (addrlen < sizeof(struct sockaddr_in) ||
	    addrlen < stcp_sockaddr_len(addr))
		return -FI_EINVAL;
	if (pep->listens || pep->source.fd < 0)
		return -FI_EOPBADSTATE;
	fd = open_listener(addr, stcp_sockaddr_len(addr));
	if (fd < 0)
		return fd;
	close(pep->source.fd);
	pep->source.fd = fd;
	return 0;
}

int stcp_pep_take_socket(struct stcp_pep *pep)
{
	int fd = pep->listens ? -1 : pep->source.fd;

	if (!pep->listens)
		pep->source.fd = -1;
	return fd;
}

static int pep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct stcp_pep *pep = stcp_container_of(fid, struct stcp_pep, fid.fid);

	if (bfid->fclass != FI_CLASS_EQ || pep->eq)
		return -FI_EINVAL;
	pep->eq = stcp_container_of(bfid, struct stcp_eq, fid.fid);
	atomic_fetch_add(&pep->eq->refs, 1);
	return 0;
}

/* Nothing arrives any more. Context: the shard's thread. */
static void stop_arriving(void *arg)
{
	struct stcp_pep *pep = arg;
	struct stcp_request *request, *next;

	stcp_shard_mute(&pep->source);
	for (request = TAILQ_FIRST(&pep->arriving); request; request = next) {
		next = TAILQ_NEXT(request, arriving_link);
		drop_request(request, TCPW_OK);
	}
	free_displaced(pep);
}

static int pep_close(struct fid *fid)
{
	struct stcp_pep *pep = stcp_container_of(fid, struct stcp_pep, fid.fid);

	if (stcp_is_inherited(pep->fabric)) {
		close(pep->source.fd);
		return 0;
	}
	stcp_shard_call(pep->source.shard, stop_arriving, pep);
	if (pep->eq) {
		stcp_eq_purge(pep->eq, fid);
		atomic_fetch_sub(&pep->eq->refs, 1);
	}
	if (pep->source.fd >= 0)
		close(pep->source.fd);
	fi_freeinfo(pep->info);
	pthread_mutex_lock(&pep->fabric->lock);
	LIST_REMOVE(pep, link);
	pthread_mutex_unlock(&pep->fabric->lock);
	atomic_fetch_sub(&pep->fabric->refs, 1);
	free(pep);
	return 0;
}

static int pep_keep_to(struct fid_pep *fid, unsigned int interface)
{
	struct stcp_pep *pep = stcp_container_of(fid, struct stcp_pep, fid);

	if (pep->listens || pep->source.fd < 0)
		return -FI_EOPBADSTATE;
	return stcp_socket_keep_to(pep->source.fd, interface);
}

static struct stcp_pep_ops own_ops = {
	.size = sizeof(struct stcp_pep_ops),
	.keep_to = pep_keep_to,
};

static int pep_ops_open(struct fid *fid, const char *name, uint64_t flags,
			void **ops, void *context)
{
	if (flags || strcmp(name, STCP_PEP_OPS) != 0)
		return -FI_ENOSYS;
	*ops = &own_ops;
	return 0;
}

static struct fi_ops pep_fid_ops =
	STCP_FID_OPS(pep_close, pep_bind, stcp_no_control, pep_ops_open);

static struct fi_ops_cm pep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = pep_setname,
	.getname = pep_getname,
	.getpeer = stcp_no_getpeer,
	.connect = stcp_no_connect,
	.listen = pep_listen,
	.accept = stcp_no_accept,
	.reject = pep_reject,
	.shutdown = stcp_no_shutdown,
	.join = stcp_no_join,
};

int stcp_pep_open(struct fid_fabric *fabric, struct fi_info *info,
		  struct fid_pep **out, void *context)
{
	const struct sockaddr_in6 any = {
		.sin6_family = info->addr_format == FI_SOCKADDR_IN6 ? AF_INET6
								    : AF_INET,
	};
	const void *addr = info->src_addr ? info->src_addr : &any;
	struct stcp_pep *pep;
	int rc;

	if (stcp_is_inherited(
		    stcp_container_of(fabric, struct stcp_fabric, fid)))
		return -FI_EOPBADSTATE;
	pep = calloc(1, sizeof(*pep));
	if (!pep)
		return -FI_ENOMEM;
	pep->info = fi_dupinfo(info);
	/* It has the name that its info gives, or any of its kind. */
	rc = pep->info ? open_listener(addr, info->src_addr
						     ? info->src_addrlen
						     : stcp_sockaddr_len(addr))
		       : -FI_ENOMEM;
	if (rc < 0) {
		fi_freeinfo(pep->info);
		free(pep);
		return rc;
	}
	pep->source.fd = rc;
	stcp_fid_init(&pep->fid.fid, FI_CLASS_PEP, &pep_fid_ops, context);
	pep->fid.ops = &stcp_no_ep_ops;
	pep->fid.cm = &pep_cm_ops;
	pep->source.ready = pep_ready;
	pep->source.late = accept_again;
	stcp_shard_assign(&pep->source);
	pep->fabric = stcp_container_of(fabric, struct stcp_fabric, fid);
	atomic_fetch_add(&pep->fabric->refs, 1);
	TAILQ_INIT(&pep->arriving);
	LIST_INIT(&pep->displaced);
	pthread_mutex_lock(&pep->fabric->lock);
	LIST_INSERT_HEAD(&pep->fabric->peps, pep, link);
	pthread_mutex_unlock(&pep->fabric->lock);
	*out = &pep->fid;
	return 0;
}
