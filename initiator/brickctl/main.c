// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl: the command-line tool of a brick's clients.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "initiator/brickctl/base/brickctl.h"

const struct ctl_command *const ctl_commands[] = {
	&ctl_cmd_keygen,   &ctl_cmd_format,   &ctl_cmd_check,
	&ctl_cmd_grow,	   &ctl_cmd_info,     &ctl_cmd_alloc,
	&ctl_cmd_free,	   &ctl_cmd_map,      &ctl_cmd_unmap,
	&ctl_cmd_list,	   &ctl_cmd_read,     &ctl_cmd_write,
	&ctl_cmd_ping,	   &ctl_cmd_sessions, &ctl_cmd_stats,
	&ctl_cmd_top,	   &ctl_cmd_evict,    &ctl_cmd_fence,
	&ctl_cmd_admit,	   &ctl_cmd_clients,  &ctl_cmd_reserve,
	&ctl_cmd_tier,	   &ctl_cmd_bench,    &ctl_cmd_doctor,
	&ctl_cmd_attach,   &ctl_cmd_detach,   &ctl_cmd_reattach,
	&ctl_cmd_attached, &ctl_cmd_complete, NULL,
};

const struct ctl_command *ctl_command_find(const char *name)
{
	const struct ctl_command *const *at = ctl_commands;

	while (*at && strcmp((*at)->name, name) != 0)
		at++;
	return *at;
}

/* Before options are read: what is wrong with them is told so, too. */
static bool wants_json(char *const *argv)
{
	while (*argv && strcmp(*argv, "--json") != 0 &&
	       strcmp(*argv, "--") != 0)
		argv++;
	return *argv && !strcmp(*argv, "--json");
}

static int run_command(struct ctl *ctl, int argc, char **argv)
{
	const struct ctl_command *command = ctl_command_find(argv[0]);
	struct ctl_args args = { 0 };
	int status;

	if (!command)
		return ctl_usage(ctl, "%s: no such command", argv[0]);
	ctl->command = command;
	if (command->run_raw)
		return command->run_raw(ctl, argv);
	status = ctl_parse_command(ctl, argc, argv, &args);
	return status == CTL_GO_ON ? command->run(ctl, &args) : status;
}

int main(int argc, char **argv)
{
	struct ctl ctl = { .json = wants_json(argv) };
	int status;
	int next;

	status = ctl_parse_globals(&ctl, argc, argv, &next);
	if (status == CTL_GO_ON && next == argc)
		status = ctl_usage(&ctl, "no command");
	if (status == CTL_GO_ON)
		status = run_command(&ctl, argc - next, argv + next);
	/* What was printed must have arrived, else the job is not done. */
	if ((ferror(stdout) || fflush(stdout)) && !ctl.failed)
		status = ctl_fail(&ctl, CTL_USAGE, -errno,
				  "see that it can take what is printed",
				  "standard output: %s", strerror(errno));
	kfbrick_close(ctl.k);
	ctl_settings_fini(&ctl.settings);
	return status;
}
