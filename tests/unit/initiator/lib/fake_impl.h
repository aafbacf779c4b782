/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the fake brick's two files share.
 */
#ifndef FAKE_IMPL_H
#define FAKE_IMPL_H

#include <netinet/in.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include "fake_brick.h"
#include "kfb_err.h"

#define FAKE_CREDITS 8
#define FAKE_RX	     (FAKE_CREDITS + 1)
#define FAKE_TX	     32
#define FAKE_KEY     0x1234

struct fake_ctx {
	struct fi_context fi;
	unsigned int index;
};

struct fake_brick {
	struct fake_rules rules;
	pthread_t thread;
	pthread_mutex_t lock; /* last_flush */
	_Atomic bool stop;
	int stop_pipe[2];
	char url[64];
	uint8_t key[KFB_KEY_BYTES];
	uint8_t uuid[KFB_UUID_BYTES];
	uint8_t *memory;

	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct fi_info *ignored; /* a connection request without answer */
	int eq_fd;

	/* the connection, if ep is set */
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_mr *mr;
	struct fid_ep *ep;
	int cq_fd;
	struct fake_ctx ctx[FAKE_RX + FAKE_TX];
	uint8_t rx[FAKE_RX][KFB_REQ_MAX_BYTES];
	uint8_t tx[FAKE_TX][KFB_REPLY_MAX_BYTES];
	unsigned int next_tx;
	uint8_t hello[KFB_HELLO_BYTES];
	uint8_t accept[KFB_ACCEPT_BYTES];
	uint64_t session_id;
	uint8_t session_key[KFB_KEY_BYTES];
	_Atomic unsigned int n_hellos;
	uint32_t event_seq;
	uint64_t next_mapping;

	/* replies held back */
	struct kfb_request held[FAKE_CREDITS];
	unsigned int n_held;

	_Atomic unsigned int seen[KFB_OP_LAST + 1];
	_Atomic uint32_t last_ack;
	struct kfb_flush last_flush;
};

void fake_close_connection(struct fake_brick *b);
void fake_send(struct fake_brick *b, const void *data, size_t len);
void fake_make_accept(struct fake_brick *b, const struct kfb_hello *hello);
void fake_answer(struct fake_brick *b, const void *data, uint32_t len);
/* Answer what was held back, once the rule is gone. */
void fake_answer_held(struct fake_brick *b);

#endif
