// SPDX-License-Identifier: BSD-2-Clause
/* What the service manager is told, when it takes nothing for a while. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "brickd/base/notify.h"

/* More than any queue of datagrams has. */
#define MANY 5000

static int manager = -1;
static char said[4096];

/* An abstract name, as a manager may have one. */
static int listen_to_brickd(void **state)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char shown[32];
	int len = snprintf(shown, sizeof(shown), "@kfbrick-notify-%d",
			   (int)getpid());

	memcpy(name.sun_path, shown, (size_t)len);
	name.sun_path[0] = '\0';
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (manager < 0 ||
	    bind(manager, (struct sockaddr *)&name,
		 (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
			     (size_t)len)))
		return -1;
	/* Whoever waits for the manager does so for ever. */
	alarm(20);
	return setenv("NOTIFY_SOCKET", shown, 1);
}

static int stop_listening(void **state)
{
	alarm(0);
	return close(manager);
}

/* Return: what was told, or NULL when that is all. */
static const char *heard(void)
{
	ssize_t n = recv(manager, said, sizeof(said) - 1, MSG_DONTWAIT);

	said[n < 0 ? 0 : n] = '\0';
	return n < 0 ? NULL : said;
}

static void the_manager_is_told_at_once(void **state)
{
	brick_notify_ready("serving it");
	assert_string_equal(heard(), "READY=1\nSTATUS=serving it\n");
	brick_notify_status("half of it");
	assert_string_equal(heard(), "STATUS=half of it\n");
	brick_notify_reloading();
	assert_string_equal(heard(),
			    "RELOADING=1\nSTATUS=reading the settings again\n");
	brick_notify_stopping(1000);
	assert_string_equal(heard(), "STOPPING=1\n"
				     "EXTEND_TIMEOUT_USEC=31000000\n"
				     "STATUS=stopping\n");
	assert_null(heard());
}

/* It takes nothing any more. */
static void fill_queue(void)
{
	for (int i = 0; i < MANY; i++)
		brick_notify_status("waiting");
}

static void a_manager_that_takes_nothing_is_not_waited_for(void **state)
{
	fill_queue();
	brick_notify_ready("serving it");
	brick_notify_status("half of it");
	while (heard())
		assert_string_equal(said, "STATUS=waiting\n");
	/* At the next tick it is told what has become of it. */
	brick_notify_alive();
	assert_string_equal(heard(), "READY=1\nSTATUS=half of it\n");
	brick_notify_alive();
	assert_null(heard());
}

static void
a_watchdog_that_could_not_be_told_is_told_at_the_next_tick(void **state)
{
	char pid[32];

	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	assert_int_equal(setenv("WATCHDOG_PID", pid, 1), 0);
	assert_int_equal(setenv("WATCHDOG_USEC", "3600000000", 1), 0);
	fill_queue();
	brick_notify_alive();
	while (heard())
		assert_string_equal(said, "STATUS=waiting\n");
	brick_notify_alive();
	assert_string_equal(heard(), "STATUS=waiting\n");
	assert_string_equal(heard(), "WATCHDOG=1");
	brick_notify_alive();
	assert_null(heard());
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, listen_to_brickd, stop_listening)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_manager_is_told_at_once),
		TEST(a_manager_that_takes_nothing_is_not_waited_for),
		TEST(a_watchdog_that_could_not_be_told_is_told_at_the_next_tick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
