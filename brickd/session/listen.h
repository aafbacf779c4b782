/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connection requests: who gets an endpoint, who a REJECT.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_SESSION_LISTEN_H
#define BRICKD_SESSION_LISTEN_H

#include "brickd/net/fabric.h"

/**
 * brick_listen_service - process a fabric's events
 * @fabric: open
 *
 * Also called by the tick, for wake-ups that the fabric lost.
 */
void brick_listen_service(struct brick_fabric *fabric);

#endif
