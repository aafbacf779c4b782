/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of brickctl share: the context of a run, the table entry of a
 * command, options, errors, output.
 *
 * brickctl is one thread that runs one command and ends.
 */
#ifndef BRICKCTL_H
#define BRICKCTL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "initiator/lib/kfbrick.h"

/* Exit statuses; scripts rely on them. */
enum ctl_exit {
	CTL_DONE = 0,
	CTL_REFUSED = 1, /* by the brick */
	CTL_USAGE = 2, /* command line, configuration or a local file */
	CTL_UNREACHED = 3, /* no connection or no authentication */
	CTL_UNKNOWN = 4, /* connection lost after the request */
};

/* Own options of one command, at most. */
#define CTL_OPTIONS_MAX 15
/* Values of the one option that may be given again, at most. */
#define CTL_REPEATED_MAX 3
/* Words of one command line that are not options, at most. */
#define CTL_WORDS_MAX 2

struct ctl_option {
	const char *name;
	int letter; /* 0: only the long form */
	const char *value; /* what to call the value; NULL: takes none */
	const char *help;
};

struct ctl_args {
	/* By position in the command's table; NULL: not given; a flag is "". */
	const char *options[CTL_OPTIONS_MAX];
	const char *repeated[CTL_REPEATED_MAX]; /* of the repeatable one */
	int n_repeated;
	const char *words[CTL_WORDS_MAX];
	int n_words;
};

struct ctl;

struct ctl_command {
	const char *name;
	const char *synopsis; /* the words */
	const char *summary; /* one line */
	const char *details; /* paragraphs for --help, with an example */
	const struct ctl_option *options; /* ends with a NULL name */
	const char *repeatable; /* the option that may be given again, or NULL */
	int words; /* that it needs */
	int words_more; /* that may follow */
	bool changes; /* a lost answer leaves the outcome unknown */
	/* Return: an enum ctl_exit. */
	int (*run)(struct ctl *ctl, const struct ctl_args *args);
	/* Takes the rest of the command line as it is; instead of run. */
	int (*run_raw)(struct ctl *ctl, char **argv);
};

/* Where brickd listens for administrators unless told otherwise. */
#define CTL_ADMIN_DEFAULT "/run/brickd/admin.sock"

/* Where to go and as whom; strings are owned. */
struct ctl_settings {
	char *brick;
	char *fabric; /* for a brick named without one; NULL: tcp */
	char *client;
	char *key_file;
	char *admin; /* socket of the brick on this machine */
	uint32_t timeout_ms; /* 0: not set */
	uint32_t reconnect_ms; /* 0: a lost connection is the end */
	bool allow_untrusted_tcp; /* beyond this host without a tunnel */
};

/* An error as it would be printed, for a command that goes on. */
struct ctl_caught {
	int error; /* a negative errno, or 0 */
	char message[1024];
	char next[256];
};

struct ctl_progress;

struct ctl {
	const struct ctl_command *command; /* NULL before it is known */
	struct ctl_settings settings;
	bool json;
	bool quiet; /* no progress */
	bool failed; /* an error has been reported */
	bool under_way; /* a part of what the command changes may be changed */
	void (*before_error)(void); /* called before one is printed, or NULL */
	struct kfbrick *k;
	struct ctl_progress *progress; /* a line that may be on the terminal */
	struct ctl_caught *catching; /* takes errors in place of printing */
};

/* In the files cmd_*.c. */
extern const struct ctl_command ctl_cmd_admit;
extern const struct ctl_command ctl_cmd_alloc;
extern const struct ctl_command ctl_cmd_attach;
extern const struct ctl_command ctl_cmd_attached;
extern const struct ctl_command ctl_cmd_bench;
extern const struct ctl_command ctl_cmd_clients;
extern const struct ctl_command ctl_cmd_complete;
extern const struct ctl_command ctl_cmd_detach;
extern const struct ctl_command ctl_cmd_doctor;
extern const struct ctl_command ctl_cmd_evict;
extern const struct ctl_command ctl_cmd_tier;
extern const struct ctl_command ctl_cmd_check;
extern const struct ctl_command ctl_cmd_fence;
extern const struct ctl_command ctl_cmd_format;
extern const struct ctl_command ctl_cmd_grow;
extern const struct ctl_command ctl_cmd_free;
extern const struct ctl_command ctl_cmd_info;
extern const struct ctl_command ctl_cmd_keygen;
extern const struct ctl_command ctl_cmd_list;
extern const struct ctl_command ctl_cmd_map;
extern const struct ctl_command ctl_cmd_ping;
extern const struct ctl_command ctl_cmd_read;
extern const struct ctl_command ctl_cmd_reattach;
extern const struct ctl_command ctl_cmd_reserve;
extern const struct ctl_command ctl_cmd_sessions;
extern const struct ctl_command ctl_cmd_stats;
extern const struct ctl_command ctl_cmd_top;
extern const struct ctl_command ctl_cmd_unmap;
extern const struct ctl_command ctl_cmd_write;

/* options.c */

/* What reading a command line came to, besides an enum ctl_exit. */
#define CTL_GO_ON (-1)

/**
 * ctl_parse_globals - read the options in front of the command
 * @ctl: gets the settings
 * @argc: words in @argv
 * @argv: the whole command line
 * @next: index in @argv of the command, or @argc
 *
 * Return: CTL_GO_ON, or the status to exit with.
 */
int ctl_parse_globals(struct ctl *ctl, int argc, char **argv, int *next);

/**
 * ctl_parse_command - read the options and words behind the command
 * @ctl: its command is set; gets the settings
 * @argc: words in @argv
 * @argv: the command line from the command's name on
 * @args: filled
 *
 * Return: CTL_GO_ON, or the status to exit with.
 */
int ctl_parse_command(struct ctl *ctl, int argc, char **argv,
		      struct ctl_args *args);

/* help.c: to standard output */
extern const struct ctl_option ctl_globals[];
extern const struct ctl_command *const ctl_commands[];
void ctl_help(void);
void ctl_help_command(const struct ctl_command *command);

/* main.c; NULL: there is none of that name. */
const struct ctl_command *ctl_command_find(const char *name);

/* values.c: values on the command line; they report what is wrong */

/* Return: 0, or the status to exit with. */
int ctl_read_range(struct ctl *ctl, const char *text, uint64_t *va,
		   uint64_t *n_blocks);
int ctl_read_number(struct ctl *ctl, const char *what, const char *text,
		    uint64_t least, uint64_t most, uint64_t *value);
/* The number behind an option of the command; left as it is where there is none. */
int ctl_read_option(struct ctl *ctl, const struct ctl_args *args, int option,
		    uint64_t least, uint64_t most, uint64_t *value);
/* As ctl_id_text() writes it, or as a number is written. */
int ctl_read_id(struct ctl *ctl, const char *what, const char *text,
		uint64_t *id);

/* settings.c */

/**
 * ctl_settings_complete - fill what the command line left open
 * @ctl: its settings are completed from KFBRICK, then the configuration file
 *
 * Return: 0, or the status to exit with.
 */
int ctl_settings_complete(struct ctl *ctl);
void ctl_settings_fini(struct ctl_settings *settings);

/**
 * ctl_user_file - a file in the user's configuration folder
 * @name: of the file
 *
 * Return: an allocated path, or NULL when the user has no such folder.
 */
char *ctl_user_file(const char *name);

/* config.c */

/**
 * ctl_config_read - read a configuration file
 * @path: of the file
 * @settings: gets what is not set yet
 * @why: on failure what is wrong, with the line
 * @why_size: bytes in @why
 *
 * Return: 0, -ENOENT (no such file), another negative errno.
 */
int ctl_config_read(const char *path, struct ctl_settings *settings, char *why,
		    size_t why_size);

/* connect.c */

/* What helps where tcp would leave this host unprotected. */
#define CTL_UNTRUSTED_NEXT \
	"reach the brick through a WireGuard tunnel, use verbs://, or where everybody on the way is trusted --allow-untrusted-tcp"

/* What helps where the brick refuses the key, and where nobody answers. */
#define CTL_KEY_NEXT \
	"see that --client and its key are those of the brick's configuration; the brick's log says which is wrong"
#define CTL_ADDRESS_NEXT "see that the brick runs and that this is its address"

/* Reads the key of the client. Return: 0, or the status to exit with. */
int ctl_read_key(struct ctl *ctl, uint8_t key[KFBRICK_KEY_BYTES]);

/**
 * ctl_connect - connect to the brick of the settings
 * @ctl: gets the connection
 *
 * Return: 0, or the status to exit with.
 */
int ctl_connect(struct ctl *ctl);

/* The same, and then asks what the brick is. */
int ctl_connect_info(struct ctl *ctl, struct kfbrick_info *info);

/* What a request may take: of the settings, or 10 s. */
uint32_t ctl_timeout_ms(const struct ctl *ctl);

/* fail.c: errors, to standard error, as text or as one JSON object */

/**
 * ctl_fail - report an error
 * @ctl: context
 * @status: to exit with
 * @error: a negative errno, or 0
 * @next: what the user can do, without a full stop
 * @format: what failed, where and why
 *
 * Return: @status.
 */
int ctl_fail(struct ctl *ctl, int status, int error, const char *next,
	     const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A wrong command line; points at --help. Return: CTL_USAGE. */
int ctl_usage(struct ctl *ctl, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* What the user can do after an error; in the last row, of 0, after all others. */
struct ctl_next {
	int error;
	const char *next;
};
const char *ctl_next_of(const struct ctl_next *nexts, int error);

/* Return: CTL_USAGE. */
int ctl_no_memory(struct ctl *ctl);

/* A call whose connection was lost with its request under way, or before. */
bool ctl_is_unanswered(int error);

/**
 * ctl_fail_call - report that a call of the library failed
 * @ctl: connected
 * @error: what it returned
 * @format: the range, mapping or brick it was about
 *
 * Return: the status to exit with.
 */
int ctl_fail_call(struct ctl *ctl, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As ctl_fail_call(), where status and next step are special. */
int ctl_fail_as(struct ctl *ctl, int status, int error, const char *next,
		const char *what);

/**
 * ctl_fail_why - the same, where it is known why
 * @ctl: connected
 * @status: to exit with
 * @error: a negative errno
 * @next: what the user can do
 * @what: what it was about
 * @why: the library's words, or others; what follows "; " is left out
 *
 * Return: @status.
 */
int ctl_fail_why(struct ctl *ctl, int status, int error, const char *next,
		 const char *what, const char *why);

/**
 * ctl_fail_range - report that a call of the library about blocks failed
 * @ctl: connected
 * @error: what it returned
 * @va: of the first block
 * @n_blocks: how many
 *
 * Of blocks that are mapped it says whether this client has them, and if not how
 * to learn who does.
 *
 * Return: the status to exit with.
 */
int ctl_fail_range(struct ctl *ctl, int error, uint64_t va, uint64_t n_blocks);

/* A one-sided operation completed with an error. */
int ctl_fail_completion(struct ctl *ctl, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Nothing has moved for as long as it may. */
int ctl_fail_silence(struct ctl *ctl, int timeout_ms, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* That the brick has ended the session, and why, or by whom. */
void ctl_note_evicted(struct ctl *ctl, const struct kfbrick_event *event);

/* Something to know that is no failure, to standard error. */
void ctl_note(struct ctl *ctl, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* output.c */

/* "16777215.9 TiB" and a NUL, with room. */
#define CTL_SIZE_TEXT_BYTES 32
const char *ctl_size_text(char text[CTL_SIZE_TEXT_BYTES], uint64_t bytes);
/* What a noun ends in when there are n. */
const char *ctl_plural(uint64_t n);
/* Bytes in so many blocks, or the most that 64 bits hold. */
uint64_t ctl_blocks_bytes(uint64_t n_blocks);

/* "12 (24 MiB)" */
#define CTL_BLOCKS_TEXT_BYTES (CTL_SIZE_TEXT_BYTES + 24)
const char *ctl_blocks_text(char text[CTL_BLOCKS_TEXT_BYTES],
			    uint64_t n_blocks);

const char *ctl_flush_name(uint32_t flush_mode);

/**
 * ctl_read_line - read the first line of a small file, as sysfs has them
 * @text: gets it without the newline; "" on failure
 * @size: bytes in @text
 * @format: the path
 *
 * Return: whether it could be read.
 */
bool ctl_read_line(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Ids of sessions, mappings and instances have one spelling everywhere, also in the
 * log: 16 hexadecimal digits.
 */
#define CTL_ID_TEXT_BYTES 17
const char *ctl_id_text(char text[CTL_ID_TEXT_BYTES], uint64_t id);
void ctl_json_id(struct json_object *object, const char *name, uint64_t id);

/* Addresses and keys are strings in JSON: many readers cut 64 bits. */
void ctl_json_hex(struct json_object *object, const char *name, uint64_t value);
void ctl_json_count(struct json_object *object, const char *name,
		    uint64_t value);
void ctl_json_bool(struct json_object *object, const char *name, bool value);
void ctl_json_text(struct json_object *object, const char *name,
		   const char *value);
/* A new object with one member, which it owns. */
struct json_object *ctl_json_of(const char *name, struct json_object *member);
/*
 * Each object that is printed has the number of its schema: it rises when a member is
 * taken away or gets another meaning, not when one is added.
 */
#define CTL_JSON_SCHEMA 1
/* Without a newline; lives as long as the object. */
const char *ctl_json_line(struct json_object *object);
/* Prints one line, with the schema's number, and frees the object. */
void ctl_json_print(struct json_object *object);
/* The same to standard error, say. */
void ctl_json_print_to(FILE *file, struct json_object *object);

/* Return: 0 or -errno. */
int ctl_write_full(int fd, const void *from, size_t len);

/**
 * ctl_done - tell what a command has done
 * @ctl: context
 * @object: how programs are told with --json; freed
 * @format: how people are told
 *
 * Return: CTL_DONE.
 */
int ctl_done(struct ctl *ctl, struct json_object *object, const char *format,
	     ...) __attribute__((format(printf, 3, 4)));

#endif
