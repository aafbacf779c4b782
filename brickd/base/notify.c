// SPDX-License-Identifier: BSD-2-Clause
/* Readiness, reload, watchdog: what the service manager is told. */
#include "brickd/base/notify.h"

#ifdef BRICK_HAVE_SYSTEMD

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "brickd/base/clock.h"
#include "brickd/base/datagram.h"

#define US_PER_MS UINT64_C(1000)
/* systemd's own clock of a stop has slack beyond what the daemon asks for. */
#define STOP_SLACK_MS UINT64_C(30000)
#define STATE_BYTES   64
#define STATUS_BYTES  512
#define TEXT_BYTES    (STATE_BYTES + STATUS_BYTES)

static uint64_t next_alive_ms;
static int manager_fd = -1;

/* What the manager was not told yet. */
static char state[STATE_BYTES];
static char status[STATUS_BYTES];

/* Return: bytes of the address, or 0: nobody listens, or not at a place we know. */
static socklen_t manager_address(struct sockaddr_un *address)
{
	const char *place = getenv("NOTIFY_SOCKET");
	size_t len = place ? strlen(place) : 0;

	if (len < 2 || len >= sizeof(address->sun_path) ||
	    (*place != '/' && *place != '@'))
		return 0;
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, place, len + 1);
	if (*place == '@')
		address->sun_path[0] = '\0';
	else
		len++;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

/*
 * sd_notify() waits for a manager that takes nothing, and wants a descriptor each
 * time. Return: whether it is to be told again.
 */
static bool tell_fails(const char *text)
{
	struct sockaddr_un address = { 0 };
	socklen_t len = manager_address(&address);
	int rc;

	if (!len)
		return false;
	rc = brick_datagram_send(&manager_fd, &address, len, text,
				 strlen(text));
	return rc == -EAGAIN || manager_fd < 0;
}

static void tell_news(void)
{
	char text[TEXT_BYTES];

	if (!*state && !*status)
		return;
	(void)snprintf(text, sizeof(text), "%s%s", state, status);
	if (tell_fails(text))
		return;
	*state = '\0';
	*status = '\0';
}

void brick_notify_status(const char *what)
{
	(void)snprintf(status, sizeof(status), "STATUS=%.*s\n",
		       STATUS_BYTES - 16, what);
	tell_news();
}

void brick_notify_ready(const char *what)
{
	(void)snprintf(state, sizeof(state), "READY=1\n");
	brick_notify_status(what);
}

void brick_notify_reloading(void)
{
	(void)snprintf(state, sizeof(state), "RELOADING=1\n");
	brick_notify_status("reading the settings again");
}

void brick_notify_stopping(uint64_t timeout_ms)
{
	(void)snprintf(state, sizeof(state),
		       "STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRIu64 "\n",
		       (timeout_ms + STOP_SLACK_MS) * US_PER_MS);
	brick_notify_status("stopping");
}

void brick_notify_alive(void)
{
	uint64_t now_ms = brick_now_ms(), every_us;

	tell_news();
	if (now_ms < next_alive_ms || sd_watchdog_enabled(0, &every_us) <= 0 ||
	    tell_fails("WATCHDOG=1"))
		return;
	next_alive_ms = now_ms + every_us / 2 / US_PER_MS;
}

#else

void brick_notify_ready(const char *what)
{
}

void brick_notify_status(const char *what)
{
}

void brick_notify_reloading(void)
{
}

void brick_notify_stopping(uint64_t timeout_ms)
{
}

void brick_notify_alive(void)
{
}

#endif
