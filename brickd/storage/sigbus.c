// SPDX-License-Identifier: BSD-2-Clause
/* SIGBUS: name the slot, then die of it. Only async-signal-safe calls. */
#include "brickd/storage/sigbus.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "brickd/media/media.h"
#include "brickd/store/store.h"

#define ROOM_MS 100

static const struct brick_media *medium;
static const struct brick_store *watched;

/* Whoever does not read the log keeps nobody from dying. */
static void write_stderr(const char *text, size_t len)
{
	struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
	ssize_t n;

	if (poll(&room, 1, ROOM_MS) != 1)
		return;
	n = write(STDERR_FILENO, text, len);
	(void)n;
}

static void say_number(uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	write_stderr(digits + at, sizeof(digits) - at);
}

#define SAY(text) write_stderr(text, sizeof(text) - 1)

static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	uint64_t off, slot = UINT64_MAX;

	(void)context;
	if (medium && brick_media_offset_of(medium, info->si_addr, &off)) {
		if (watched)
			(void)brick_store_slot_of(watched, info->si_addr,
						  &slot);
		SAY("<2>brickd: the medium failed (SIGBUS) in ");
		if (slot == UINT64_MAX) {
			SAY("the store's metadata");
		} else {
			SAY("slot ");
			say_number(slot);
		}
		SAY(": poisoned memory or a truncated file; exiting\n");
	}
	/* SA_RESETHAND: the second one kills, with a core. */
	raise(sig);
}

void brick_sigbus_watch(const struct brick_media *m,
			const struct brick_store *store)
{
	struct sigaction action = { 0 };

	medium = m;
	watched = store;
	if (m) {
		action.sa_sigaction = on_sigbus;
		action.sa_flags = SA_SIGINFO | (int)SA_RESETHAND;
	} else {
		action.sa_handler = SIG_DFL;
	}
	sigaction(SIGBUS, &action, NULL);
}
