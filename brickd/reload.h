/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGHUP: clients and grants are read again.
 *
 * All or nothing: settings with a mistake change nothing. Sessions whose client
 * is gone, has another key, or lost a grant that they have mapped are fenced.
 *
 * Context: the loop thread; reads files, which takes milliseconds.
 */
#ifndef BRICKD_RELOAD_H
#define BRICKD_RELOAD_H

#include "brickd/server.h"

/**
 * brick_reload - take clients and grants of fresh settings
 * @server: serving
 *
 * What cannot change while the daemon runs is named in the log.
 */
void brick_reload(struct brick_server *server);

#endif
