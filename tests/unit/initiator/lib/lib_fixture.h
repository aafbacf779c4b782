/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fake brick and a connection to it, for the tests of the library.
 */
#ifndef LIB_FIXTURE_H
#define LIB_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "fake_brick.h"
#include "kfb_err.h"
#include "kfbrick.h"

/* Long enough for a loaded machine, short enough to wait for. */
#define TIMEOUT_MS 60000
/* For what is not answered; see lib_limit(). */
#define SHORT_TIMEOUT_MS 500
/* For what is to be answered, and for one thing in the same call that is not. */
#define LATE_MS 3000

extern struct fake_brick *brick;
extern struct fake_rules *rules;
extern struct kfbrick *k;

/* What a brick refuses an UNMAP or its flush with, and its mapping stays. */
struct lib_stay {
	uint16_t status;
	int error;
};
#define LIB_STAYS 3
extern const struct lib_stay lib_stays[LIB_STAYS];

/* A configuration that works; the caller changes it. */
struct kfbrick_config lib_config(void);
/* Replace k by a new connection; what kfbrick_connect() returned. */
int lib_connect(const struct kfbrick_config *config);
void lib_connect_default(void);
/*
 * The time of each request from now on. What is answered has TIMEOUT_MS, on a machine
 * that has much else to do, too; what is not has little, and only that.
 */
void lib_limit(uint32_t timeout_ms);
/* Map n blocks from FAKE_VA, read-write. */
struct kfbrick_mapping *lib_map(uint64_t n_blocks);
/* One completion; fails the test when it does not come. */
struct kfbrick_completion lib_collect(void);
/* The last failure's words contain this. */
void lib_says(const char *text);

int lib_setup(void **state);
int lib_setup_connected(void **state);
int lib_teardown(void **state);

#define CONNECTED(name) \
	cmocka_unit_test_setup_teardown(name, lib_setup_connected, lib_teardown)
#define UNCONNECTED(name) \
	cmocka_unit_test_setup_teardown(name, lib_setup, lib_teardown)

#endif
