/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer that sends what it likes, over a plain socket. */
#ifndef STCP_RAW_H
#define STCP_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rig.h"
#include "tcpw_hdr.h"

/* A socket that is connected to the server, and nothing sent yet. */
int raw_socket(const struct rig *rig);
/* The same from 127.0.0.HOST. */
int raw_socket_from(const struct rig *rig, uint8_t host);
/* Connects with a request in this order; the server's endpoint is up. */
int raw_connect(struct rig *rig, enum tcpw_order order);
/* Connects and asks; nobody waits for an answer. */
int raw_request(const struct rig *rig, enum tcpw_order order);
void raw_send(int fd, const void *bytes, size_t len);
/* Header and payload; fields that contradict each other are refused. */
void raw_send_op(int fd, enum tcpw_order order, const struct tcpw_hdr *hdr,
		 const void *payload);
/* Exactly so many bytes, while the rig moves; false at the connection's end. */
bool raw_recv(struct rig *rig, int fd, void *bytes, size_t len);
/* The server closes the connection; whatever it sends before is skipped. */
void raw_expect_end(struct rig *rig, int fd);

#endif
