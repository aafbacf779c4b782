// SPDX-License-Identifier: BSD-2-Clause
/* The log: whom a line is about, what peers can do to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "brickd/base/log.h"
#include "brickd/base/log_sink.h"
#include "brickd/net/fabric.h"

#define PIPE_BYTES  4096
#define HELD_AT_END 30

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

/* A daemon's, to a pipe that has room for a few lines. */
static void open_small(void)
{
	assert_true(fcntl(pipe_fds[1], F_SETPIPE_SZ, PIPE_BYTES) > 0);
	brick_log_open();
	/* Whoever waits for the reader does so for ever. */
	alarm(20);
}

static void close_small(void)
{
	alarm(0);
	/* The next line's way is the next test's. */
	assert_int_equal(dup2(saved_fd, STDERR_FILENO), STDERR_FILENO);
	brick_log_open();
}

/* Takes what is there. Return: the number that the next line is to have. */
static unsigned int take_lines(unsigned int next, unsigned int *lost)
{
	char text[PIPE_BYTES + 1], *line, *rest = text;
	unsigned int number;
	ssize_t n = read(pipe_fds[0], text, sizeof(text) - 1);

	assert_true(n > 0);
	text[n] = '\0';
	while ((line = strsep(&rest, "\n")) && *line) {
		if (sscanf(line, "<6>brickd: line %u:", &number) == 1) {
			assert_int_equal(number, next);
			next++;
			continue;
		}
		/* Said where they are missing. */
		assert_int_equal(
			sscanf(line, "<4>brickd: %u lines of the log were lost",
			       &number),
			1);
		*lost += number;
		next += number;
	}
	return next;
}

static void log_number(unsigned int number)
{
	brick_log(LOG_INFO, NULL, "line %u: %0500d", number, 0);
}

static void a_log_that_nobody_reads_is_not_waited_for(void **state)
{
	uint64_t lost_before = brick_sink_lost();
	unsigned int n = 0, next = 0, lost = 0;

	open_small();
	while (n < 2 * BRICK_SINK_HELD_BYTES / 500)
		log_number(n++);
	while (next < n) {
		next = take_lines(next, &lost);
		brick_log_go_on();
	}
	assert_int_not_equal(lost, 0);
	assert_int_equal(brick_sink_lost() - lost_before, lost);
	/* As much as is to be held was held. */
	assert_in_range((n - lost) * 550, BRICK_SINK_HELD_BYTES - 2048,
			BRICK_SINK_HELD_BYTES + 3 * PIPE_BYTES);
	/* From now on nothing is lost. */
	log_number(n++);
	assert_int_equal(take_lines(next, &lost), n);
	close_small();
}

static void lines_that_are_held_are_in_their_order_and_whole(void **state)
{
	unsigned int n = 0, next = 0, lost = 0;

	open_small();
	while (n < BRICK_SINK_HELD_BYTES / 1000) {
		log_number(n++);
		/* The way is free now and then, and never for all. */
		if (n % 16 == 0)
			next = take_lines(next, &lost);
	}
	while (next < n) {
		brick_log_go_on();
		next = take_lines(next, &lost);
	}
	assert_int_equal(lost, 0);
	close_small();
}

static void *read_late(void *arg)
{
	unsigned int *next = arg, lost = 0;

	usleep(100000);
	while (*next < HELD_AT_END)
		*next = take_lines(*next, &lost);
	return NULL;
}

static void lines_that_are_held_at_the_end_come_out(void **state)
{
	unsigned int next = 0, lost = 0;
	pthread_t reader;

	open_small();
	for (unsigned int i = 0; i < HELD_AT_END; i++)
		log_number(i);
	assert_int_equal(pthread_create(&reader, NULL, read_late, &next), 0);
	brick_log_drain();
	/* The reader waits for what was not written. */
	assert_int_equal(pthread_join(reader, NULL), 0);
	assert_int_equal(next, HELD_AT_END);
	/* Who never reads keeps nobody for long. */
	for (unsigned int i = 0; i < HELD_AT_END; i++)
		log_number(i);
	brick_log_drain();
	for (next = 0; next < HELD_AT_END; brick_log_go_on())
		next = take_lines(next, &lost);
	assert_int_equal(lost, 0);
	close_small();
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
		TEST(a_log_that_nobody_reads_is_not_waited_for),
		TEST(lines_that_are_held_are_in_their_order_and_whole),
		TEST(lines_that_are_held_at_the_end_come_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
