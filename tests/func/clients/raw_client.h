/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client that sends exactly the bytes it is told to: for tests of what the
 * brick does with peers that libkfbrick would never be. tcp over loopback.
 */
#ifndef TESTS_FUNC_RAW_CLIENT_H
#define TESTS_FUNC_RAW_CLIENT_H

#include <stddef.h>
#include <stdint.h>

struct raw_client;

enum raw_outcome {
	RAW_ACCEPTED,
	RAW_REJECTED,
	RAW_ENDED, /* the connection ended */
	RAW_TIMEOUT,
};

/**
 * raw_connect - connect with private data of one's own
 * @url: tcp://HOST:PORT
 * @data: private data
 * @data_len: bytes
 * @reply: the private data of the accept or reject
 * @reply_len: in: room; out: bytes
 * @out: the connection when accepted, else NULL
 *
 * Return: how it went.
 */
enum raw_outcome raw_connect(const char *url, const void *data, size_t data_len,
			     void *reply, size_t *reply_len,
			     struct raw_client **out);

/* Connections begin there from now on: an IPv4 address, or NULL for any. */
void raw_come_from(const char *host);

/* Send bytes as one message; 0 or a negative errno. */
int raw_send(struct raw_client *c, const void *buf, size_t len);

/**
 * raw_receive - wait for a message or the end of the connection
 * @c: connection
 * @buf: filled
 * @len: in: room; out: bytes
 * @timeout_ms: at most; 0: what has come already
 *
 * Return: RAW_ACCEPTED with a message, RAW_ENDED or RAW_TIMEOUT.
 */
enum raw_outcome raw_receive(struct raw_client *c, void *buf, size_t *len,
			     int timeout_ms);

/* One-sided operations; 0 or a negative errno, -EAGAIN: wait for some first. */
int raw_write(struct raw_client *c, const void *buf, size_t len, uint64_t raddr,
	      uint64_t key);
int raw_write_data(struct raw_client *c, const void *buf, size_t len,
		   uint64_t raddr, uint64_t key); /* for the peer's CQ, too */
int raw_read(struct raw_client *c, void *buf, size_t len, uint64_t raddr,
	     uint64_t key);

/**
 * raw_wait - wait for one-sided operations
 * @c: connection, without a reply that is waited for
 * @n: how many more
 * @timeout_ms: at most
 *
 * Return: RAW_ACCEPTED, RAW_ENDED or RAW_TIMEOUT.
 */
enum raw_outcome raw_wait(struct raw_client *c, unsigned int n, int timeout_ms);

/* One-sided operations that are over, as far as raw_receive() or raw_wait() looked. */
uint64_t raw_moved(const struct raw_client *c);

void raw_close(struct raw_client *c);

#endif
