// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickd grow: add blocks at the end of a store that nobody serves, or to its
 * slow tier.
 *
 * A file is made larger only once it is known to hold a store. If that is as
 * far as it gets, the store is what it was, in a file that is larger.
 */
#include "brickd/command.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "brickd/admin/admin_put.h"
#include "brickd/config/config.h"
#include "brickd/media/media.h"
#include "brickd/store/offline/check.h"
#include "brickd/store/offline/grow.h"

enum {
	OPT_JSON = 256,
	OPT_SIZE,
	OPT_SLOW,
	OPT_SLOW_SIZE,
};

static const char usage[] =
	"Usage: brickd grow PATH [--size SIZE] [--slow PATH [--slow-size SIZE]]\n"
	"Adds blocks at the end of a store that is not in use; keeps what it "
	"holds.\n"
	"\n"
	"      --size SIZE       make the file as large as this first, for\n"
	"                        example 128G; not for a device, whose room is\n"
	"                        taken as it is\n"
	"      --slow PATH       take the room of the slow tier, too\n"
	"      --slow-size SIZE  make its file as large as this first\n"
	"      --json            objects for programs\n"
	"  -h, --help            show this text and exit\n";

static const struct option options[] = {
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "slow", required_argument, NULL, OPT_SLOW },
	{ "slow-size", required_argument, NULL, OPT_SLOW_SIZE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

struct arguments {
	const char *path;
	const char *slow;
	uint64_t size;
};

/* Return: -1 to go on, or the exit status. */
static int parse_grow_arguments(int argc, char **argv, struct arguments *a,
				struct brick_grow *g)
{
	int opt, rc = -1;

	opterr = 0;
	while (rc < 0 &&
	       (opt = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (opt) {
		case OPT_SIZE:
			rc = brick_size_option("grow", "--size", optarg,
					       &a->size);
			break;
		case OPT_SLOW:
			a->slow = optarg;
			break;
		case OPT_SLOW_SIZE:
			rc = brick_size_option("grow", "--slow-size", optarg,
					       &g->slow_size);
			break;
		case OPT_JSON:
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return brick_option_error("grow", opt, argv, options);
		}
	}
	if (rc >= 0)
		return rc;
	if (g->slow_size && !a->slow)
		return brick_usage_error("grow",
					 "--slow-size goes with --slow");
	return brick_path_argument("grow", argc, argv, &a->path);
}

/* Make a file that holds a store larger. */
static int extend_store_file(const char *path, uint64_t size,
			     struct brick_grow *g, char *err, size_t err_len)
{
	struct brick_check c = { .repair = false };
	struct brick_media *m;
	int ret;

	ret = brick_media_open(path, NULL, &m, err, err_len);
	if (ret)
		return ret;
	memcpy(c.boot_id, g->boot_id, sizeof(c.boot_id));
	ret = brick_store_check(m, &c, err, err_len);
	if (!ret) {
		g->zero_from = m->size;
		ret = brick_media_extend(m, size, err, err_len);
	}
	brick_media_close(m);
	return ret;
}

static int grow_store(const struct arguments *a, struct brick_grow *g,
		      char *err, size_t err_len)
{
	struct brick_media *m;
	int ret;

	ret = brick_boot_id_read(g->boot_id);
	if (!ret && a->slow)
		ret = brick_slow_open(a->slow, NULL, &g->slow, err, err_len);
	if (!ret && a->size)
		ret = extend_store_file(a->path, a->size, g, err, err_len);
	if (!ret)
		ret = brick_command_open_media(a->path, NULL, &m, err, err_len);
	if (!ret) {
		ret = brick_store_grow(m, g, err, err_len);
		brick_media_close(m);
	}
	if (g->slow)
		brick_slow_close(g->slow);
	return ret;
}

int brick_command_grow(int argc, char **argv)
{
	struct brick_grow g = { .zero_from = UINT64_MAX };
	char err[BRICK_ERR_BYTES] = "";
	struct arguments a = { 0 };
	struct json_object *o;
	int rc;

	rc = parse_grow_arguments(argc, argv, &a, &g);
	if (rc >= 0)
		return rc;
	brick_command_show_progress();
	rc = grow_store(&a, &g, err, sizeof(err));
	brick_command_hide_progress();
	if (rc)
		return brick_command_fail("grow", BRICK_EXIT_FAILED, rc, err);
	if (brick_command_wants_json()) {
		o = brick_command_object();
		brick_admin_put_text(o, "store", a.path);
		brick_admin_put_count(o, "blocks", g.n_after);
		brick_admin_put_count(o, "blocks_before", g.n_before);
		if (a.slow) {
			brick_admin_put_text(o, "slow", a.slow);
			brick_admin_put_count(o, "slow_blocks", g.slow_after);
			brick_admin_put_count(o, "slow_blocks_before",
					      g.slow_before);
		}
		brick_command_print(stdout, o);
		return 0;
	}
	printf("grown %s: %" PRIu64 " blocks, %" PRIu64 " more than before\n",
	       a.path, g.n_after, g.n_after - g.n_before);
	if (a.slow)
		printf("slow tier %s: %" PRIu64 " blocks, %" PRIu64
		       " more than before\n",
		       a.slow, g.slow_after, g.slow_after - g.slow_before);
	return 0;
}
