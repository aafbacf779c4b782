/* SPDX-License-Identifier: BSD-2-Clause */
/* What the daemon's commands share. */
#ifndef BRICKD_COMMAND_H
#define BRICKD_COMMAND_H

#include <getopt.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct brick_media;
struct brick_media_create;

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

/* The number of what the JSON of the commands looks like, as of brickctl's. */
#define BRICK_COMMAND_SCHEMA 1

/* Sees whether --json is among the words of a command. */
void brick_command_begin(int argc, char *const *argv);
bool brick_command_wants_json(void);

/* An object with the number of its schema; brick_command_print() frees it. */
struct json_object *brick_command_object(void);
void brick_command_print(FILE *to, struct json_object *object);

/**
 * brick_command_fail - say what has failed, as text or as JSON
 * @command: "format"
 * @status: to exit with
 * @error: -errno
 * @message: what, where, why and what to do; "": what the errno means
 *
 * Return: @status.
 */
int brick_command_fail(const char *command, int status, int error,
		       const char *message);

/**
 * brick_usage_error - say what is wrong with a command line
 * @command: "format", or NULL for brickd's own
 * @fmt: printf format, what is wrong
 *
 * Return: BRICK_EXIT_USAGE.
 */
__attribute__((format(printf, 2, 3))) int
brick_usage_error(const char *command, const char *fmt, ...);

/**
 * brick_option_error - say which option getopt_long() did not take
 * @command: as of brick_usage_error()
 * @opt: what it returned: ':' or '?'
 * @argv: the words
 * @options: all there are
 *
 * Context: right after getopt_long(), with opterr 0 and shorts that begin with
 * ':'.
 * Return: BRICK_EXIT_USAGE.
 */
int brick_option_error(const char *command, int opt, char *const *argv,
		       const struct option *options);

/**
 * brick_size_option - take the size that an option is given
 * @command: as of brick_usage_error()
 * @option: its name: "--size"
 * @text: what it is given
 * @size: filled, bytes; not 0
 *
 * Return: -1 to go on, or BRICK_EXIT_USAGE.
 */
int brick_size_option(const char *command, const char *option, const char *text,
		      uint64_t *size);

/**
 * brick_path_argument - take the one word that is no option
 * @command: as of brick_usage_error()
 * @argc: words
 * @argv: the words
 * @path: filled
 *
 * Context: after getopt_long() has seen all of them.
 * Return: -1 to go on, or BRICK_EXIT_USAGE.
 */
int brick_path_argument(const char *command, int argc, char *const *argv,
			const char **path);

/**
 * brick_command_open_media - open a store's medium, for a command
 * @path: as of brick_media_open()
 * @create: of brick_media_open(), too
 * @out: the medium; memory that the platform does not call persistent is volatile
 * @err: a message on failure
 * @err_len: its size, bytes
 *
 * Context: may block.
 * Return: as of brick_media_open().
 */
int brick_command_open_media(const char *path,
			     const struct brick_media_create *create,
			     struct brick_media **out, char *err,
			     size_t err_len);

/* Show how far the work is, on a terminal, until the command ends. */
void brick_command_show_progress(void);
/* Take that line away, for something else to be printed; it may come back. */
void brick_command_hide_progress(void);

/**
 * brick_parse_fd - read the number of an open descriptor
 * @text: decimal
 * @fd: filled on success
 *
 * Return: 0 or -EINVAL.
 */
int brick_parse_fd(const char *text, int *fd);

#endif
