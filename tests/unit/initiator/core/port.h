/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An initiator over two queues, with a port that is a test: it says what became of
 * what was posted.
 */
#ifndef TESTS_CORE_PORT_H
#define TESTS_CORE_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "kfb_initiator_priv.h"
#include "kfb_initiator_retain.h"

#define QUEUES	 2
#define POST_MAX 64
#define COPIES	 64

/* What the initiator has asked of its port. */
struct port {
	struct kfb_initiator i;
	struct kfb_initiator_queue q[QUEUES];
	uint8_t tx[KFB_CLIENT_TX_BYTES(QUEUES)];
	struct {
		uint32_t queue;
		uint64_t id;
	} posted[POST_MAX];
	uint32_t n_posted;
	uint32_t room; /* readbacks there is room for */
	uint32_t n_taken_back;
	uint64_t n_lost_bytes;
	struct kfb_initiator_flush *done;
	int error; /* that @done's owner is told */
	struct kfb_initiator_call *call_done;
	bool has_no_place; /* for a readback */
	/* Copies that are being written again. */
	struct kfb_copy copies[COPIES];
	__u64 newest[COPIES];
	uint64_t written[COPIES];
	uint32_t n_written;
	uint32_t n_kicks;
	uint32_t n_receives; /* posted */
	int post_error; /* of writing a copy */
	struct kfb_rate rate; /* that it was told last */
	uint32_t n_reasons; /* for which it waits, or has failed */
	uint32_t n_logged; /* that the log has */
};

extern struct port *port;
/* Over all queues, by somebody who is told how it ends. */
extern struct kfb_initiator_flush flush;
/* By default they are those of a program. */
extern const struct kfb_initiator_ops port_ops_of_disk;

/* A session that lives, and a write on each queue. */
int port_setup(void **state);
int port_teardown(void **state);

/* The newest readback of a queue, and its end. */
uint64_t port_posted(uint32_t queue);
void port_read_back(uint32_t queue, int error);

#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, port_setup, port_teardown)

#endif
