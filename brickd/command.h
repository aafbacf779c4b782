/* SPDX-License-Identifier: BSD-2-Clause */
/* What the daemon's commands share. */
#ifndef BRICKD_COMMAND_H
#define BRICKD_COMMAND_H

#define BRICK_CONF_DEFAULT "/etc/kfbrick/brickd.conf"

#define BRICK_EXIT_FAILED 1
#define BRICK_EXIT_USAGE  2

/**
 * brick_command_format - brickd format PATH ...
 * @argc: words, from "format" on
 * @argv: the words
 *
 * Return: the exit status.
 */
int brick_command_format(int argc, char **argv);

/**
 * brick_command_check - brickd check PATH ...
 * @argc: words, from "check" on
 * @argv: the words
 *
 * Return: the exit status: 0 whole, 3 damaged, 4 beyond repair; 1 and 2 as
 * for all commands.
 */
int brick_command_check(int argc, char **argv);

/**
 * brick_command_grow - brickd grow PATH ...
 * @argc: words, from "grow" on
 * @argv: the words
 *
 * Return: the exit status.
 */
int brick_command_grow(int argc, char **argv);

/**
 * brick_parse_fd - read the number of an open descriptor
 * @text: decimal
 * @fd: filled on success
 *
 * Return: 0 or -EINVAL.
 */
int brick_parse_fd(const char *text, int *fd);

#endif
