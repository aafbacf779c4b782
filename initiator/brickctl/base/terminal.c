// SPDX-License-Identifier: BSD-2-Clause
/*
 * The terminal of a live view.
 */
#include "initiator/brickctl/base/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "initiator/brickctl/base/clock.h"

#define ROWS_DEFAULT	24
#define COLUMNS_DEFAULT 80

/* Another screen without a cursor and without wrapping, and back. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

static struct termios before;
static sigset_t mask_before;

static const int signals[] = { SIGINT,	SIGTERM, SIGHUP,
			       SIGQUIT, SIGTSTP, SIGWINCH };

#define N_SIGNALS (sizeof(signals) / sizeof(signals[0]))

static struct sigaction actions_before[N_SIGNALS];
static volatile sig_atomic_t noted;
static bool is_taken;

/* A signal that ends the view is not overwritten by one that does not. */
static void note_signal(int signal)
{
	if (!noted || noted == SIGWINCH)
		noted = signal;
}

bool ctl_terminal_is_there(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

void ctl_terminal_size(unsigned int *rows, unsigned int *columns)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row ||
	    !size.ws_col) {
		size.ws_row = ROWS_DEFAULT;
		size.ws_col = COLUMNS_DEFAULT;
	}
	*rows = size.ws_row;
	*columns = size.ws_col;
}

static int enter_view(void)
{
	struct termios raw = before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw))
		return -errno;
	fputs(ENTER, stdout);
	fflush(stdout);
	return 0;
}

static void leave_view(void)
{
	fputs(LEAVE, stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

int ctl_terminal_start(void)
{
	struct sigaction action = { .sa_handler = note_signal };
	sigset_t mask;
	size_t i;
	int rc;

	if (tcgetattr(STDIN_FILENO, &before))
		return -errno;
	/* They arrive in ctl_terminal_wait() only. */
	sigemptyset(&mask);
	for (i = 0; i < N_SIGNALS; i++)
		sigaddset(&mask, signals[i]);
	sigprocmask(SIG_BLOCK, &mask, &mask_before);
	for (i = 0; i < N_SIGNALS; i++)
		sigaction(signals[i], &action, &actions_before[i]);
	is_taken = true;
	rc = enter_view();
	if (rc)
		ctl_terminal_stop();
	return rc;
}

void ctl_terminal_stop(void)
{
	size_t i;

	if (!is_taken)
		return;
	is_taken = false;
	leave_view();
	for (i = 0; i < N_SIGNALS; i++)
		sigaction(signals[i], &actions_before[i], NULL);
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

static enum ctl_terminal_event take_signal(int *which)
{
	int signal = noted;

	noted = 0;
	/* Ctrl-Z: the shell gets its terminal as it was, and we get ours back. */
	if (signal == SIGTSTP) {
		leave_view();
		raise(SIGSTOP);
		tcgetattr(STDIN_FILENO, &before);
		enter_view();
	}
	if (signal == SIGTSTP || signal == SIGWINCH)
		return CTL_TERMINAL_RESIZED;
	*which = signal;
	return CTL_TERMINAL_SIGNAL;
}

/* Return: is the user done? */
static bool take_keys(void)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	if (n <= 0)
		return n == 0 || (errno != EAGAIN && errno != EINTR);
	return memchr(keys, 'q', (size_t)n) || memchr(keys, 'Q', (size_t)n);
}

enum ctl_terminal_event ctl_terminal_wait(uint64_t until_ms, int *signal)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	for (;;) {
		uint64_t now_ms = ctl_now_ms();
		uint64_t left_ms = until_ms > now_ms ? until_ms - now_ms : 0;
		struct timespec left = {
			.tv_sec = (time_t)(left_ms / 1000),
			.tv_nsec = (long)(left_ms % 1000) * 1000000,
		};
		int n = ppoll(&p, 1, &left, &mask_before);

		if (noted)
			return take_signal(signal);
		if (n > 0 && (p.revents & POLLIN ? take_keys() : true))
			return CTL_TERMINAL_QUIT;
		if (!n)
			return CTL_TERMINAL_TIME;
	}
}
