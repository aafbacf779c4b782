// SPDX-License-Identifier: BSD-2-Clause
/*
 * The texts of --help, made from the tables.
 */
#include <stdio.h>

#include "initiator/brickctl/base/brickctl.h"

#define COLUMN_WIDTH 24

static void print_options(const struct ctl_option *options)
{
	char column[64];

	for (; options && options->name; options++) {
		char letter[] = "-x, ";

		letter[1] = (char)options->letter;
		snprintf(column, sizeof(column), "%s--%s%s%s",
			 options->letter ? letter : "    ", options->name,
			 options->value ? " " : "",
			 options->value ? options->value : "");
		printf("  %-*s %s\n", COLUMN_WIDTH, column, options->help);
	}
}

void ctl_help(void)
{
	unsigned int i;

	puts("usage: brickctl [OPTION...] COMMAND [ARGUMENT...]\n"
	     "\n"
	     "Looks after the 2 MiB blocks of a brick: allocates, maps, reads and writes them.\n"
	     "\n"
	     "Commands (brickctl COMMAND --help says more):");
	for (i = 0; ctl_commands[i]; i++)
		printf("  %-8s %s\n", ctl_commands[i]->name,
		       ctl_commands[i]->summary);
	puts("\nOptions, before or after the command:");
	print_options(ctl_globals);
	puts("\n"
	     "The brick is that of --brick, else of the environment's KFBRICK, else of\n"
	     "~/.config/kfbrick/brickctl.conf, which may name the client and its key too.\n"
	     "\n"
	     "Exit status: 0 done; 1 refused by the brick; 2 usage or a local file;\n"
	     "3 cannot reach or authenticate; 4 outcome unknown: run brickctl list.\n"
	     "\n"
	     "Example: brickctl --brick tcp://127.0.0.1 --client me alloc 0x0+128");
}

void ctl_help_command(const struct ctl_command *command)
{
	printf("usage: brickctl [OPTION...] %s %s\n\n%s.\n", command->name,
	       command->synopsis, command->summary);
	if (command->options && command->options->name) {
		putchar('\n');
		print_options(command->options);
	}
	printf("\n%s\n\nbrickctl --help lists the options of all commands.\n",
	       command->details);
}
