// SPDX-License-Identifier: BSD-2-Clause
/* Readiness, reload, watchdog: what the service manager is told. */
#include "brickd/base/notify.h"

#ifdef BRICK_HAVE_SYSTEMD

#include <inttypes.h>
#include <systemd/sd-daemon.h>

#include "brickd/base/clock.h"

#define US_PER_MS UINT64_C(1000)
/* systemd's own clock of a stop has slack beyond what the daemon asks for. */
#define STOP_SLACK_MS UINT64_C(30000)

static uint64_t next_alive_ms;

void brick_notify_ready(const char *what)
{
	sd_notifyf(0, "READY=1\nSTATUS=%s", what);
}

void brick_notify_status(const char *what)
{
	sd_notifyf(0, "STATUS=%s", what);
}

void brick_notify_reloading(void)
{
	sd_notify(0, "RELOADING=1\nSTATUS=reading the settings again");
}

void brick_notify_stopping(uint64_t timeout_ms)
{
	sd_notifyf(0,
		   "STOPPING=1\nSTATUS=stopping\n"
		   "EXTEND_TIMEOUT_USEC=%" PRIu64,
		   (timeout_ms + STOP_SLACK_MS) * US_PER_MS);
}

void brick_notify_alive(void)
{
	uint64_t now_ms = brick_now_ms(), every_us;

	if (now_ms < next_alive_ms || sd_watchdog_enabled(0, &every_us) <= 0)
		return;
	next_alive_ms = now_ms + every_us / 2 / US_PER_MS;
	sd_notify(0, "WATCHDOG=1");
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
