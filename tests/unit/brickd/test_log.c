// SPDX-License-Identifier: BSD-2-Clause
/* The log: whom a line is about, what peers can do to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "brickd/base/log.h"
#include "brickd/net/fabric.h"

static char said[4096];
static int saved_fd, pipe_fds[2];

static int listen_to_stderr(void **state)
{
	saved_fd = dup(STDERR_FILENO);
	return saved_fd < 0 || pipe(pipe_fds) ||
	       dup2(pipe_fds[1], STDERR_FILENO) < 0;
}

/* What was written since; it fits into a pipe. */
static const char *heard(void)
{
	ssize_t n;

	assert_int_equal(dup2(saved_fd, STDERR_FILENO), STDERR_FILENO);
	close(pipe_fds[1]);
	n = read(pipe_fds[0], said, sizeof(said) - 1);
	assert_true(n >= 0);
	said[n] = '\0';
	return said;
}

static int stop_listening(void **state)
{
	dup2(saved_fd, STDERR_FILENO);
	close(saved_fd);
	close(pipe_fds[0]);
	return 0;
}

static int close_refused(struct fid *fid)
{
	return -EBUSY;
}

static void a_key_that_stays_is_told_with_its_session(void **state)
{
	struct fi_ops ops = { .size = sizeof(ops), .close = close_refused };
	struct fid_mr mr = { .fid.ops = &ops };
	struct brick_region region = { .mr = &mr };

	assert_int_equal(brick_fabric_dereg(&region, "session 12 client a"),
			 -EBUSY);
	/* For another try. */
	assert_ptr_equal(region.mr, &mr);
	region.mr = NULL;
	assert_int_equal(brick_fabric_dereg(&region, "session 12 client a"), 0);
	assert_string_equal(heard(), "<3>brickd: session 12 client a: a "
				     "registration does not close: Device or "
				     "resource busy\n");
}

static void what_peers_say_stays_on_its_line(void **state)
{
	brick_log(LOG_NOTICE, "session 1", "\"%s\"", "a\n<0>brickd: b\x1b[2J");
	assert_string_equal(heard(), "<5>brickd: session 1: "
				     "\"a?<0>brickd: b?[2J\"\n");
}

static void a_line_too_long_is_cut(void **state)
{
	char text[2000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	brick_log(LOG_NOTICE, NULL, "%s", text);
	assert_int_equal(strlen(heard()), 1023);
	assert_int_equal(said[1022], '\n');
}

static void lines_beyond_the_bound_are_counted(void **state)
{
	struct brick_ratelimit rl = { .interval_ms = 3600000, .burst = 2 };

	for (int i = 0; i < 5; i++)
		brick_log_limited(&rl, LOG_NOTICE, NULL, "line %d", i);
	assert_int_equal(rl.suppressed, 3);
	/* The window is over. */
	rl.interval_ms = 0;
	brick_log_limited(&rl, LOG_NOTICE, NULL, "line 5");
	assert_string_equal(heard(),
			    "<5>brickd: line 0\n<5>brickd: line 1\n"
			    "<5>brickd: 3 lines like the next were left out\n"
			    "<5>brickd: line 5\n");
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, listen_to_stderr, stop_listening)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_key_that_stays_is_told_with_its_session),
		TEST(what_peers_say_stays_on_its_line),
		TEST(a_line_too_long_is_cut),
		TEST(lines_beyond_the_bound_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
