/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One request on the admin socket: from a line to a struct.
 *
 * Context: any; no I/O.
 */
#ifndef BRICKD_ADMIN_ADMIN_REQUEST_H
#define BRICKD_ADMIN_ADMIN_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/kfb_wire.h"

enum brick_admin_op {
	BRICK_ADMIN_INFO,
	BRICK_ADMIN_SESSIONS,
	BRICK_ADMIN_STATS,
	BRICK_ADMIN_EVICT,
	BRICK_ADMIN_TIER,
	BRICK_ADMIN_CLIENTS,
	BRICK_ADMIN_MAPPED,
	BRICK_ADMIN_OPS
};

enum brick_admin_tier_what {
	BRICK_ADMIN_TIER_SHOW,
	BRICK_ADMIN_TIER_PIN,
	BRICK_ADMIN_TIER_UNPIN,
	BRICK_ADMIN_TIER_DEMOTE,
	BRICK_ADMIN_TIER_PROMOTE,
	BRICK_ADMIN_TIER_JOB,
	BRICK_ADMIN_TIER_CANCEL,
	BRICK_ADMIN_TIER_WHATS
};

/**
 * struct brick_admin_request - what is asked
 * @op: what
 * @after: SESSIONS: only those with a greater id; 0: all. MAPPED: with @n_shown,
 *	the address where to go on
 * @n_shown: MAPPED: of what begins there, so many were shown; 0: from the start
 * @from: CLIENTS: only those from this number on
 * @session: EVICT: its id; 0: by client
 * @client: EVICT: whose sessions
 * @tier: TIER: what
 * @va: TIER and MAPPED: the range, of those that take one: aligned, not beyond
 *	the last address
 * @n_blocks: at least 1 then; MAPPED: 0: everything
 * @job: TIER: which one
 */
struct brick_admin_request {
	enum brick_admin_op op;
	uint64_t after;
	uint64_t n_shown;
	uint64_t from;
	uint64_t session;
	char client[KFB_NAME_MAX + 1];
	enum brick_admin_tier_what tier;
	uint64_t va;
	uint64_t n_blocks;
	uint64_t job;
};

/**
 * brick_admin_request_parse - read a line
 * @line: without its newline; need not end in NUL
 * @len: bytes
 * @request: filled on success
 * @why: on failure what is wrong, a constant string
 *
 * Members that an op does not have are ignored.
 *
 * Return: 0; -EBADMSG when the line is not one JSON object: end the
 * connection; -EOPNOTSUPP for an op there is not; -EINVAL for a member that
 * is missing or has a wrong value; -ENOMEM.
 */
int brick_admin_request_parse(const char *line, size_t len,
			      struct brick_admin_request *request,
			      const char **why);

#endif
