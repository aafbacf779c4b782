// SPDX-License-Identifier: BSD-2-Clause
/* brickd format: make an empty store. */
#include "brickd/command.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "brickd/admin/admin_put.h"
#include "brickd/config/config.h"
#include "brickd/media/media.h"
#include "brickd/store/store.h"

#define MIB_SHIFT 20

enum {
	OPT_JSON = 256,
	OPT_SIZE,
	OPT_UUID,
	OPT_FORCE,
	OPT_SPARSE,
	OPT_FRAGMENTED,
	OPT_SLOW,
	OPT_SLOW_SIZE,
};

static const char usage[] =
	"Usage: brickd format PATH --size SIZE [OPTION]...\n"
	"Makes an empty store in a file or on a devdax device.\n"
	"\n"
	"      --size SIZE         of the file, for example 64G; not for a\n"
	"                          device, which has its own\n"
	"      --slow PATH         a slow tier for blocks at rest: a file or a\n"
	"                          block device\n"
	"      --slow-size SIZE    of that file\n"
	"      --uuid UUID         the store's name (default: a random one)\n"
	"      --force             overwrite a store or other data\n"
	"      --sparse            do not allocate the file; only on volatile\n"
	"                          media\n"
	"      --allow-fragmented  accept a DAX file in several pieces\n"
	"      --json              objects for programs\n"
	"  -h, --help              show this text and exit\n";

static const struct option options[] = {
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "slow", required_argument, NULL, OPT_SLOW },
	{ "slow-size", required_argument, NULL, OPT_SLOW_SIZE },
	{ "uuid", required_argument, NULL, OPT_UUID },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ "sparse", no_argument, NULL, OPT_SPARSE },
	{ "allow-fragmented", no_argument, NULL, OPT_FRAGMENTED },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

struct arguments {
	const char *path;
	const char *slow;
	struct brick_media_create create;
	struct brick_slow_create slow_create;
	struct brick_store_format format;
	bool has_uuid;
};

/* Return: -1 to go on, or the exit status. */
static int parse_format_arguments(int argc, char **argv, struct arguments *a)
{
	int opt, rc = -1;

	opterr = 0;
	while (rc < 0 &&
	       (opt = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (opt) {
		case OPT_SIZE:
			rc = brick_size_option("format", "--size", optarg,
					       &a->create.size);
			break;
		case OPT_SLOW:
			a->slow = optarg;
			break;
		case OPT_SLOW_SIZE:
			rc = brick_size_option("format", "--slow-size", optarg,
					       &a->slow_create.size);
			break;
		case OPT_UUID:
			if (brick_uuid_parse(optarg, a->format.uuid))
				return brick_usage_error(
					"format", "--uuid %s: no uuid", optarg);
			a->has_uuid = true;
			break;
		case OPT_FORCE:
			a->format.force = true;
			break;
		case OPT_SPARSE:
			a->create.sparse = true;
			a->slow_create.sparse = true;
			break;
		case OPT_FRAGMENTED:
			a->create.allow_fragmented = true;
			break;
		case OPT_JSON:
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return brick_option_error("format", opt, argv, options);
		}
	}
	if (rc >= 0)
		return rc;
	if (a->slow_create.size && !a->slow)
		return brick_usage_error("format",
					 "--slow-size goes with --slow");
	return brick_path_argument("format", argc, argv, &a->path);
}

/* Makes the store and its slow tier; their sizes are filled in. */
static int make_files(struct arguments *a, char *err, size_t err_len)
{
	struct brick_media *media;
	int rc;

	rc = brick_command_open_media(a->path, &a->create, &media, err,
				      err_len);
	if (rc)
		return rc;
	a->create.size = media->size;
	if (a->slow)
		rc = brick_slow_open(a->slow, &a->slow_create, &a->format.slow,
				     err, err_len);
	if (!rc)
		rc = brick_store_format(media, &a->format, err, err_len);
	if (a->format.slow) {
		a->slow_create.size = a->format.slow->size;
		(rc ? brick_slow_discard : brick_slow_close)(a->format.slow);
	}
	(rc ? brick_media_discard : brick_media_close)(media);
	return rc;
}

static int format_store(struct arguments *a)
{
	char err[BRICK_ERR_BYTES] = "";
	char uuid[BRICK_UUID_TEXT_BYTES];
	struct json_object *o;
	int rc;

	brick_command_show_progress();
	rc = make_files(a, err, sizeof(err));
	brick_command_hide_progress();
	if (rc)
		return brick_command_fail("format", BRICK_EXIT_FAILED, rc, err);
	brick_uuid_format(a->format.uuid, uuid);
	if (brick_command_wants_json()) {
		o = brick_command_object();
		brick_admin_put_text(o, "store", a->path);
		brick_admin_put_count(o, "bytes", a->create.size);
		brick_admin_put_text(o, "uuid", uuid);
		if (a->slow) {
			brick_admin_put_text(o, "slow", a->slow);
			brick_admin_put_count(o, "slow_bytes",
					      a->slow_create.size);
		}
		brick_command_print(stdout, o);
		return 0;
	}
	printf("formatted %s: %" PRIu64 " MiB, uuid %s\n", a->path,
	       a->create.size >> MIB_SHIFT, uuid);
	if (a->slow)
		printf("slow tier %s: %" PRIu64 " MiB\n", a->slow,
		       a->slow_create.size >> MIB_SHIFT);
	return 0;
}

int brick_command_format(int argc, char **argv)
{
	struct arguments a = { 0 };
	int status = parse_format_arguments(argc, argv, &a);

	if (status >= 0)
		return status;
	if (!a.has_uuid) {
		randombytes_buf(a.format.uuid, KFB_UUID_BYTES);
		/* RFC 4122: version 4, variant 1. */
		a.format.uuid[6] = (uint8_t)((a.format.uuid[6] & 0x0f) | 0x40);
		a.format.uuid[8] = (uint8_t)((a.format.uuid[8] & 0x3f) | 0x80);
	}
	return format_store(&a);
}
