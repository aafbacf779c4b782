/* SPDX-License-Identifier: BSD-2-Clause */
/* The providers of kfabric that reach the simulated fabric. */
#ifndef SIM_KERNEL_FABRIC_H
#define SIM_KERNEL_FABRIC_H

#include <stdint.h>

/*
 * Their names, as kfabric and the control device call them: a card whose writes are
 * flushed behind them; and a socket, whose writes may be durable when they are over,
 * and on which whoever posts may send.
 */
#define KM_FABRIC	 "sim"
#define KM_FABRIC_SOCKET "sim-socket"

/* For how long this machine may hold up who connects an endpoint, or closes it. */
extern uint64_t sim_hold_up_ns;

int km_fabric_init(void);

#endif
