// SPDX-License-Identifier: BSD-2-Clause
/* Plain sockets against the rig's server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "raw.h"
#include "tcpw_cm.h"

int raw_socket_from(const struct rig *rig, uint8_t host)
{
	const struct sockaddr_in from = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof(from)),
			 0);
	assert_int_equal(connect(fd, rig->client.info->dest_addr,
				 sizeof(struct sockaddr_in)),
			 0);
	return fd;
}

int raw_socket(const struct rig *rig)
{
	return raw_socket_from(rig, 1);
}

void raw_send(int fd, const void *bytes, size_t len)
{
	assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
}

/* 1: all of it; 0: the end; -1: too late. */
static int receive(struct rig *rig, int fd, uint8_t *to, size_t len)
{
	uint64_t until_ms = rig_now_ms() + RIG_DEADLINE_MS;
	size_t at = 0;

	while (at < len) {
		ssize_t n = recv(fd, to + at, len - at, MSG_DONTWAIT);

		if (n > 0)
			at += (size_t)n;
		else if (n == 0 || errno != EAGAIN)
			return 0;
		else if (rig_now_ms() > until_ms)
			return -1;
		else
			rig_step(rig);
	}
	return 1;
}

bool raw_recv(struct rig *rig, int fd, void *bytes, size_t len)
{
	int rc = receive(rig, fd, bytes, len);

	if (rc < 0)
		fail_msg("nothing comes");
	return rc;
}

void raw_expect_end(struct rig *rig, int fd)
{
	uint8_t byte;

	while (raw_recv(rig, fd, &byte, 1))
		;
	close(fd);
}

int raw_request(const struct rig *rig, enum tcpw_order order)
{
	uint8_t bytes[TCPW_CM_MAX] = { 0 };
	int fd = raw_socket(rig);

	raw_send(fd, bytes,
		 (size_t)tcpw_cm_encode(TCPW_CM_REQUEST, order, NULL, 0,
					bytes));
	return fd;
}

int raw_connect(struct rig *rig, enum tcpw_order order)
{
	uint8_t bytes[TCPW_CM_MAX] = { 0 };
	struct event event;
	int fd = raw_request(rig, order);

	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, FI_CONNREQ);
	rig_endpoint(&rig->server, event.info);
	fi_freeinfo(event.info);
	assert_int_equal(fi_accept(rig->server.ep, NULL, 0), 0);
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, FI_CONNECTED);
	assert_true(raw_recv(rig, fd, bytes, TCPW_CM_HEADER_BYTES));
	assert_int_equal(bytes[1], TCPW_CM_ACCEPT);
	return fd;
}

void raw_send_op(int fd, enum tcpw_order order, const struct tcpw_hdr *hdr,
		 const void *payload)
{
	uint8_t bytes[TCPW_HDR_MAX];
	int n = tcpw_hdr_encode(hdr, order, bytes);

	assert_true(n > 0);
	raw_send(fd, bytes, (size_t)n);
	if (payload && hdr->payload_bytes)
		raw_send(fd, payload, hdr->payload_bytes);
}
