// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl fence and admit: keep a client out of a brick, and let it in again.
 */
#include "initiator/brickctl/base/brickctl.h"

static int change_client(struct ctl *ctl, const char *client,
			 int (*call)(struct kfbrick *k, const char *client),
			 const char *done)
{
	int status, err;

	status = ctl_connect(ctl);
	if (status)
		return status;
	err = call(ctl->k, client);
	/* Asking again is harmless, also when the answer to the first time was lost. */
	if (ctl_is_unanswered(err))
		return ctl_fail_as(ctl, CTL_UNKNOWN, err,
				   "it may have happened or not: say it again",
				   client);
	if (err)
		return ctl_fail_call(ctl, err, "%s", client);
	return ctl_done(ctl, ctl_json_of(done, json_object_new_string(client)),
			"%s %s\n", client, done);
}

static int run_fence(struct ctl *ctl, const struct ctl_args *args)
{
	return change_client(ctl, args->words[0], kfbrick_fence, "fenced");
}

static int run_admit(struct ctl *ctl, const struct ctl_args *args)
{
	return change_client(ctl, args->words[0], kfbrick_admit, "admitted");
}

const struct ctl_command ctl_cmd_fence = {
	.name = "fence",
	.synopsis = "CLIENT",
	.summary = "Ends a client's sessions with a brick and keeps it out",
	.details =
		"When it says so, nothing that the client has sent lands any more, and the client\n"
		"gets no session until brickctl admit, also after a restart of the brick. Runs on\n"
		"any machine: --client names a client to whom the brick's settings give the role\n"
		"fencer. A client without a session is fenced as well.\n"
		"\n"
		"Example: brickctl --client watch --key-file watch.key fence host-7",
	.words = 1,
	.changes = true,
	.run = run_fence,
};

const struct ctl_command ctl_cmd_admit = {
	.name = "admit",
	.synopsis = "CLIENT",
	.summary = "Lets in again a client that is kept out by fence",
	.details =
		"It does no harm to a client that is not fenced. --client names a client to whom\n"
		"the brick's settings give the role fencer.\n"
		"\n"
		"Example: brickctl --client watch --key-file watch.key admit host-7",
	.words = 1,
	.changes = true,
	.run = run_admit,
};
