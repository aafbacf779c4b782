/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kfabric-9p-bridge: carries messages of 9P between connections of a fabric and those of
 * a 9P server's socket, one for one. It reads no more of them than their size.
 *
 * A connection has a thread, its buffers and its objects of the fabric for itself.
 */
#ifndef K9P_BRIDGE_H
#define K9P_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>
#include <rdma/fi_eq.h>

/**
 * struct bridge_options - the command line
 * @provider: of the fabric: verbs, tcp or stcp
 * @node: address to listen at
 * @port: and its port
 * @server: of 9P: HOST:PORT, or the path of a unix socket
 * @msize: longest message, bytes
 * @depth: requests under way at most, of a connection
 * @max_connections: at one time
 * @timeout_s: until the first request of a connection
 * @is_plain: connections say nothing of either, as those of trans=rdma
 */
struct bridge_options {
	const char *provider;
	const char *node;
	const char *port;
	const char *server;
	uint32_t msize;
	uint32_t depth;
	uint32_t max_connections;
	uint32_t timeout_s;
	bool is_plain;
};

/**
 * struct bridge_message - a message, or room for one
 * @data: msize bytes
 * @len: bytes of the message; of one that is being read: as far as known
 * @done: bytes read, or written, of the socket
 */
struct bridge_message {
	uint8_t *data;
	size_t len;
	size_t done;
};

/**
 * struct bridge_queue - messages in the order in which they came
 * @items: room for as many as there are
 * @first: of them
 * @count: how many
 * @room: of @items
 */
struct bridge_queue {
	struct bridge_message **items;
	unsigned int first, count, room;
};

/**
 * struct bridge_link - the fabric's side of a connection
 * @fabric: of the listener
 * @domain: of this connection
 * @eq: its events
 * @cq: its completions
 * @ep: it
 * @mr: of all messages' memory, where the provider wants that
 * @desc: of @mr, or NULL
 */
struct bridge_link {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	void *desc;
};

/**
 * struct bridge_conn - a connection
 * @options: of the bridge
 * @info: of its request, its own
 * @pep: of the listener
 * @peer: who asked, for messages
 * @msize: longest message that both ends take
 * @depth: requests under way that both ends take
 * @asks_by_ms: when its first request must be there, on bridge_now_ms()'s clock
 * @has_asked: it is
 * @n: messages of each direction
 * @link: the fabric's side
 * @socket: to the server, or -1
 * @memory: of all messages
 * @messages: 2 @n of them: requests first
 * @requests: came from the fabric, go to the socket
 * @free: messages that replies can be read into, none of the socket's bytes done but
 *	of the first
 * @unsent: a reply that the fabric had no room for, or NULL
 */
struct bridge_conn {
	const struct bridge_options *options;
	struct fi_info *info;
	struct fid_pep *pep;
	char peer[96];
	uint32_t msize;
	uint32_t depth;
	uint64_t asks_by_ms;
	bool has_asked;
	unsigned int n;
	struct bridge_link link;
	int socket;
	uint8_t *memory;
	struct bridge_message *messages;
	struct bridge_queue requests;
	struct bridge_queue free;
	struct bridge_message *unsent;
};

/**
 * struct bridge_rare - what strangers can bring about as often as they like
 * @next_ms: when it may be said again
 * @n_unsaid: how often it was not said since
 *
 * Of one thread.
 */
struct bridge_rare {
	uint64_t next_ms;
	unsigned long n_unsaid;
};

/* Prints a line about what went wrong, a hundred in ten seconds at most. */
void bridge_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, one line in ten seconds; it ends with how many were left out before it. */
void bridge_say_rarely(struct bridge_rare *rare, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Milliseconds of a clock that nobody sets. */
uint64_t bridge_now_ms(void);

/**
 * bridge_listen - serve whoever connects, until the process ends
 * @options: the command line
 *
 * Return: what failed, a positive error number of libfabric.
 */
int bridge_listen(const struct bridge_options *options);

/**
 * bridge_conn_begin - take a connection request
 * @options: of the bridge
 * @fabric: of the listener
 * @pep: of the listener
 * @info: of the request; the connection's from now on
 * @data: the request's private data
 * @len: its bytes
 *
 * A thread of its own serves it. A request that asks for something else, or for one
 * connection too many, is rejected.
 *
 * Context: the listener's thread.
 */
void bridge_conn_begin(const struct bridge_options *options,
		       struct fid_fabric *fabric, struct fid_pep *pep,
		       struct fi_info *info, const uint8_t *data, size_t len);

/* What the queue's end gets; there is room for all messages that there are. */
void bridge_queue_put(struct bridge_queue *queue,
		      struct bridge_message *message);
/* What has waited longest, and stays; NULL: none. */
struct bridge_message *bridge_queue_first(const struct bridge_queue *queue);
void bridge_queue_drop_first(struct bridge_queue *queue);

/* link.c: what concerns the fabric. 0, 1 if something was moved, or -errno. */
int bridge_link_open(struct bridge_conn *conn);
void bridge_link_close(struct bridge_conn *conn);
int bridge_link_events(struct bridge_conn *conn);
int bridge_link_completions(struct bridge_conn *conn);
int bridge_link_post_receive(struct bridge_conn *conn,
			     struct bridge_message *message);
/* -FI_EAGAIN: no room so far. */
int bridge_link_send(struct bridge_conn *conn, struct bridge_message *message);
/* Something happens on the fabric or, as @events wants it, on the socket. */
int bridge_link_wait(struct bridge_conn *conn, short events);

/* server.c: what concerns the socket. 0, 1 if something was moved, or -errno. */
int bridge_server_connect(const char *server);
int bridge_server_write(struct bridge_conn *conn);
int bridge_server_read(struct bridge_conn *conn);

#endif /* K9P_BRIDGE_H */
