// SPDX-License-Identifier: BSD-2-Clause
/*
 * Errors: what failed, where, why, and what to do next, for people or as JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/base/brickctl.h"
#include "initiator/brickctl/base/progress.h"
#include "kfb_evicted.h"

#define MESSAGE_BYTES 1024
#define NEXT_BYTES    256

static void message_json(const struct ctl *ctl, int status, int error,
			 const char *next, const char *message)
{
	struct json_object *inner = json_object_new_object();

	if (ctl->command)
		ctl_json_text(inner, "command", ctl->command->name);
	ctl_json_text(inner, "message", message);
	ctl_json_text(inner, "next", next);
	if (error)
		ctl_json_text(inner, "errno", strerrorname_np(-error));
	ctl_json_count(inner, "exit", (uint64_t)status);
	ctl_json_print_to(stderr, ctl_json_of("error", inner));
}

static int report_failure(struct ctl *ctl, int status, int error,
			  const char *next, const char *message)
{
	if (ctl->catching) {
		ctl->catching->error = error;
		snprintf(ctl->catching->message, sizeof(ctl->catching->message),
			 "%s", message);
		snprintf(ctl->catching->next, sizeof(ctl->catching->next), "%s",
			 next);
		return status;
	}
	if (ctl->progress)
		ctl_progress_hide(ctl->progress);
	if (ctl->before_error)
		ctl->before_error();
	ctl->failed = true;
	if (ctl->json)
		message_json(ctl, status, error, next, message);
	else
		fprintf(stderr, "brickctl: %s%s%s; %s\n",
			ctl->command ? ctl->command->name : "",
			ctl->command ? ": " : "", message, next);
	return status;
}

int ctl_fail(struct ctl *ctl, int status, int error, const char *next,
	     const char *format, ...)
{
	char message[MESSAGE_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return report_failure(ctl, status, error, next, message);
}

int ctl_usage(struct ctl *ctl, const char *format, ...)
{
	char message[MESSAGE_BYTES];
	char next[64];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	snprintf(next, sizeof(next), "see brickctl%s%s --help",
		 ctl->command ? " " : "",
		 ctl->command ? ctl->command->name : "");
	return report_failure(ctl, CTL_USAGE, -EINVAL, next, message);
}

int ctl_no_memory(struct ctl *ctl)
{
	return ctl_fail(ctl, CTL_USAGE, -ENOMEM, "free some and try again",
			"no memory");
}

const char *ctl_next_of(const struct ctl_next *nexts, int error)
{
	while (nexts->error && nexts->error != error)
		nexts++;
	return nexts->next;
}

bool ctl_is_unanswered(int error)
{
	return error == -ECONNABORTED || error == -ECONNRESET ||
	       error == -ETIMEDOUT || error == -ENOTCONN;
}

static int failure_status_of(const struct ctl *ctl, int error)
{
	switch (error) {
	case -ENOTCONN:
		return ctl->under_way ? CTL_UNKNOWN : CTL_UNREACHED;
	case -ECONNABORTED:
	case -ECONNRESET:
	case -ETIMEDOUT:
		/* Asking again is harmless where nothing was to change. */
		return ctl->command->changes ? CTL_UNKNOWN : CTL_UNREACHED;
	default:
		return CTL_REFUSED;
	}
}

/* What ends an operation by a mapping has no sentence. */
static const struct ctl_next ended_nexts[] = {
	{ -EACCES, "the brick's configuration grants each client its ranges" },
	{ -ESTALE, "brickctl list mine shows the mappings that live" },
	{ 0, "the brick's log may say more" },
};

/* The library's sentence ends in "; what to do" when the brick has refused. */
static const char *next_after_refusal(const char *why, int error)
{
	const char *semicolon = strstr(why, "; ");

	return semicolon ? semicolon + 2 : ctl_next_of(ended_nexts, error);
}

/*
 * The brick lets go of what a client has mapped when its lease is over: who has
 * just lost it, or finds it with another, is told when that is.
 */
static const char *next_step(const struct ctl *ctl, int status, const char *why,
			     int error, char text[NEXT_BYTES])
{
	const char *next = "it may have happened or not: run brickctl list";
	uint32_t s = ctl->k ? (kfbrick_lease_ms(ctl->k) + 999) / 1000 : 0;

	if (status == CTL_UNREACHED)
		return "nothing has changed: see that the brick runs, then try again";
	if (status != CTL_UNKNOWN)
		return next_after_refusal(why, error);
	if (!s || !ctl->under_way)
		return next;
	snprintf(text, NEXT_BYTES,
		 "%s; what it had mapped stays so for up to %" PRIu32 " s",
		 next, s);
	return text;
}

/* The library's words, or those of the error. */
static const char *why_of(const struct ctl *ctl, int error)
{
	const char *why = kfbrick_error(ctl->k);

	return *why ? why : strerror(-error);
}

void ctl_note_evicted(struct ctl *ctl, const struct kfbrick_event *event)
{
	if (event->cause == KFBRICK_EVICTED_ORDER)
		ctl_note(ctl,
			 "evicted: user %" PRIu32
			 " of the brick's machine has ended this session",
			 event->uid);
	else
		ctl_note(ctl, "evicted: %s", kfb_evicted_text(event->cause));
}

/* As ctl_fail_why() with the status and next step of most calls. */
static int fail_operation(struct ctl *ctl, int error, const char *why,
			  const char *format, va_list args)
{
	int status = failure_status_of(ctl, error);
	char what[MESSAGE_BYTES];
	char next[NEXT_BYTES];

	vsnprintf(what, sizeof(what), format, args);
	return ctl_fail_why(ctl, status, error,
			    next_step(ctl, status, why, error, next), what,
			    why);
}

/* The library usually names what it was about; then it need not be said. */
int ctl_fail_why(struct ctl *ctl, int status, int error, const char *next,
		 const char *what, const char *why)
{
	bool named = strstr(why, what) != NULL;
	/* What it says to do next is told apart, if it is told. */
	const char *semicolon = strstr(why, "; ");
	size_t len = semicolon ? (size_t)(semicolon - why) : strlen(why);
	struct kfbrick_event event = { .size = sizeof(event) };

	/* The library's words say why a client was evicted, but not by whom. */
	while (ctl->k && kfbrick_next_event(ctl->k, &event) > 0) {
		if (event.kind == KFBRICK_EVENT_EVICTED)
			ctl_note_evicted(ctl, &event);
	}
	return ctl_fail(ctl, status, error, next, "%s%s%.*s", named ? "" : what,
			named ? "" : ": ", (int)len, why);
}

int ctl_fail_call(struct ctl *ctl, int error, const char *format, ...)
{
	va_list args;
	int status;

	va_start(args, format);
	status = fail_operation(ctl, error, why_of(ctl, error), format, args);
	va_end(args);
	return status;
}

int ctl_fail_as(struct ctl *ctl, int status, int error, const char *next,
		const char *what)
{
	return ctl_fail_why(ctl, status, error, next, what, why_of(ctl, error));
}

int ctl_fail_silence(struct ctl *ctl, int timeout_ms, const char *format, ...)
{
	int status = failure_status_of(ctl, -ETIMEDOUT);
	char what[MESSAGE_BYTES];
	char next[NEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return ctl_fail(ctl, status, -ETIMEDOUT,
			next_step(ctl, status, "", -ETIMEDOUT, next),
			"%s: nothing has moved within %d ms", what, timeout_ms);
}

int ctl_fail_completion(struct ctl *ctl, int error, const char *format, ...)
{
	const char *why = strerror(-error);
	va_list args;
	int status;

	/* What the library said last need not be about this operation. */
	if (error == -ECONNRESET)
		why = why_of(ctl, error);
	else if (error == -ECONNABORTED)
		why = "three connections in a row died with it in flight";
	va_start(args, format);
	status = fail_operation(ctl, error, why, format, args);
	va_end(args);
	return status;
}

void ctl_note(struct ctl *ctl, const char *format, ...)
{
	char message[MESSAGE_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	if (ctl->progress)
		ctl_progress_hide(ctl->progress);
	if (ctl->json)
		ctl_json_print_to(stderr,
				  ctl_json_of("note",
					      json_object_new_string(message)));
	else
		fprintf(stderr, "brickctl: %s: %s\n", ctl->command->name,
			message);
}
