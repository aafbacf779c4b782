// SPDX-License-Identifier: BSD-2-Clause
/* kfabric-9p-bridge: a connection from its request to its end. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include "bridge.h"
#include "kfabric/9p/k9p_wire.h"

/* There are so many, those among them that end. */
static atomic_uint n_connections;

void bridge_queue_put(struct bridge_queue *queue,
		      struct bridge_message *message)
{
	queue->items[(queue->first + queue->count++) % queue->room] = message;
}

struct bridge_message *bridge_queue_first(const struct bridge_queue *queue)
{
	return queue->count ? queue->items[queue->first] : NULL;
}

void bridge_queue_drop_first(struct bridge_queue *queue)
{
	queue->first = (queue->first + 1) % queue->room;
	queue->count--;
}

static int alloc_messages(struct bridge_conn *conn)
{
	size_t bytes = 2 * (size_t)conn->n * conn->msize;
	unsigned int i;

	conn->messages = calloc(2 * (size_t)conn->n, sizeof(*conn->messages));
	if (!conn->messages ||
	    posix_memalign((void **)&conn->memory,
			   (size_t)sysconf(_SC_PAGESIZE), bytes)) {
		conn->memory = NULL;
		return -FI_ENOMEM;
	}
	for (i = 0; i < 2 * conn->n; i++)
		conn->messages[i].data = conn->memory + (size_t)i * conn->msize;
	conn->requests.room = conn->free.room = conn->n;
	conn->requests.items = calloc(conn->n, sizeof(*conn->requests.items));
	conn->free.items = calloc(conn->n, sizeof(*conn->free.items));
	if (!conn->requests.items || !conn->free.items)
		return -FI_ENOMEM;
	for (i = conn->n; i < 2 * conn->n; i++)
		bridge_queue_put(&conn->free, &conn->messages[i]);
	return 0;
}

static void conn_free(struct bridge_conn *conn)
{
	bridge_link_close(conn);
	if (conn->socket >= 0)
		close(conn->socket);
	free(conn->memory);
	free(conn->messages);
	free(conn->requests.items);
	free(conn->free.items);
	fi_freeinfo(conn->info);
	free(conn);
	atomic_fetch_sub(&n_connections, 1);
}

/*
 * What was read of the fabric goes to the socket before anything is read of that, so that
 * a receive is there again before the reply that lets the other end use it.
 */
static int conn_turn(struct bridge_conn *conn)
{
	int (*const steps[])(struct bridge_conn *) = { bridge_link_events,
						       bridge_link_completions,
						       bridge_server_write,
						       bridge_server_read };
	int moved = 0, ret;
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		ret = steps[i](conn);
		if (ret < 0)
			return ret;
		moved |= ret;
	}
	return moved;
}

static int conn_serve(struct bridge_conn *conn)
{
	bool may_read;
	int ret;

	for (;;) {
		ret = conn_turn(conn);
		if (ret < 0)
			return ret;
		if (ret)
			continue;
		/* Whoever asks for nothing must not have a place for ever. */
		if (!conn->has_asked && bridge_now_ms() >= conn->asks_by_ms) {
			bridge_say("%s: has sent no request in %u s",
				   conn->peer, conn->options->timeout_s);
			return -FI_ETIMEDOUT;
		}
		may_read = !conn->unsent && conn->free.count;
		ret = bridge_link_wait(
			conn, (may_read ? POLLIN : 0) |
				      (conn->requests.count ? POLLOUT : 0));
		if (ret)
			return ret;
	}
}

/* The server is asked for before the other end is told that there is one. */
static int conn_open(struct bridge_conn *conn)
{
	int ret = alloc_messages(conn);

	if (ret)
		return ret;
	conn->socket = bridge_server_connect(conn->options->server);
	if (conn->socket < 0) {
		bridge_say("%s: there is no 9P server at %s: %s", conn->peer,
			   conn->options->server, strerror(-conn->socket));
		return -FI_ECONNREFUSED;
	}
	conn->asks_by_ms =
		bridge_now_ms() + (uint64_t)conn->options->timeout_s * 1000;
	return bridge_link_open(conn);
}

static uint32_t take_smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* What both ends can do. Return: whether the request is one for this bridge. */
static bool conn_agree(struct bridge_conn *conn, const uint8_t *data,
		       size_t len)
{
	const struct k9pw_hello *hello = (const void *)data;
	bool is_hello = len >= sizeof(*hello) &&
			!memcmp(hello->magic, K9PW_MAGIC, K9PW_MAGIC_BYTES);

	conn->msize = conn->options->msize;
	conn->depth = conn->options->depth;
	if (is_hello) {
		conn->msize =
			take_smaller(k9pw_get32(hello->msize), conn->msize);
		conn->depth =
			take_smaller(k9pw_get16(hello->depth), conn->depth);
	}
	conn->n = conn->depth + K9PW_FLUSHES;
	return is_hello != conn->options->is_plain &&
	       conn->msize >= K9PW_MSIZE_MIN && conn->depth;
}

static void *conn_thread(void *arg)
{
	struct bridge_conn *conn = arg;
	fid_t handle = conn->info->handle;
	const char *how = "has ended";
	int ret = conn_open(conn);

	/* An endpoint has taken the request with it. */
	if (ret && !conn->link.ep)
		fi_reject(conn->pep, handle, NULL, 0);
	if (ret)
		how = "is not served";
	else
		ret = conn_serve(conn);
	if (ret == -ENODATA)
		bridge_say("%s: the 9P server has ended it", conn->peer);
	else
		bridge_say("%s: %s: %s", conn->peer, how, fi_strerror(-ret));
	conn_free(conn);
	return NULL;
}

/* Return: whether a thread serves it from now on. */
static bool conn_is_taken(struct bridge_conn *conn, const uint8_t *data,
			  size_t len)
{
	static struct bridge_rare one_too_many, something_else;
	pthread_attr_t attr;
	pthread_t thread;
	int ret;

	/* The count has this one. */
	if (atomic_load(&n_connections) > conn->options->max_connections) {
		bridge_say_rarely(
			&one_too_many,
			"%s: refused: there are %u connections already (--max-connections)",
			conn->peer, conn->options->max_connections);
		return false;
	}
	if (!conn_agree(conn, data, len)) {
		bridge_say_rarely(&something_else,
				  "%s: asks for something else: rejected",
				  conn->peer);
		return false;
	}
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	ret = pthread_create(&thread, &attr, conn_thread, conn);
	pthread_attr_destroy(&attr);
	if (ret)
		bridge_say("%s: no thread: %s", conn->peer, strerror(ret));
	return !ret;
}

void bridge_conn_begin(const struct bridge_options *options,
		       struct fid_fabric *fabric, struct fid_pep *pep,
		       struct fi_info *info, const uint8_t *data, size_t len)
{
	struct bridge_conn *conn = calloc(1, sizeof(*conn));
	char host[64], port[16];

	if (!conn) {
		fi_reject(pep, info->handle, NULL, 0);
		fi_freeinfo(info);
		return;
	}
	atomic_fetch_add(&n_connections, 1);
	conn->options = options;
	conn->info = info;
	conn->pep = pep;
	conn->socket = -1;
	conn->link.fabric = fabric;
	if (!info->dest_addr ||
	    getnameinfo(info->dest_addr, (socklen_t)info->dest_addrlen, host,
			sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(conn->peer, sizeof(conn->peer), "a client");
	else
		snprintf(conn->peer, sizeof(conn->peer), "%s:%s", host, port);
	if (conn_is_taken(conn, data, len))
		return;
	fi_reject(pep, info->handle, NULL, 0);
	conn_free(conn);
}
