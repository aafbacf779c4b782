// SPDX-License-Identifier: BSD-2-Clause
/* brickd: the command line. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "brickd/base/log.h"
#include "brickd/command.h"
#include "brickd/config/config.h"
#include "brickd/media/media.h"
#include "brickd/net/fabric.h"
#include "brickd/server.h"
#include "brickd/store/offline/look.h"

enum {
	OPT_AUTH = 256,
	OPT_CHECK,
	OPT_READY_FD,
};

static const char usage[] =
	"Usage: brickd [OPTION]...\n"
	"       brickd format PATH [OPTION]...\n"
	"       brickd check PATH [OPTION]...\n"
	"       brickd grow PATH [OPTION]...\n"
	"Serves a store of 2 MiB blocks to RDMA clients.\n"
	"\n"
	"  -c, --config FILE      read settings (default " BRICK_CONF_DEFAULT
	")\n"
	"  -l, --listen ADDRESS   tcp:// or verbs://HOST[:PORT];\n"
	"                         repeatable, instead of the file's\n"
	"  -s, --store PATH       the store, instead of the file's\n"
	"      --auth MODE        required or none, instead of the file's\n"
	"      --check-config     check the settings and exit\n"
	"      --ready-fd N       write the port to descriptor N when ready\n"
	"  -v, --verbose          log more\n"
	"  -h, --help             show this text and exit\n"
	"  -V, --version          show the version and exit\n"
	"\n"
	"brickd format --help, check --help and grow --help tell about these.\n";

static const struct option options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "listen", required_argument, NULL, 'l' },
	{ "store", required_argument, NULL, 's' },
	{ "auth", required_argument, NULL, OPT_AUTH },
	{ "check-config", no_argument, NULL, OPT_CHECK },
	{ "ready-fd", required_argument, NULL, OPT_READY_FD },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

struct arguments {
	const char *config;
	const char *store;
	const char *auth;
	uint32_t n_listen;
	const char *listen[BRICK_LISTEN_MAX];
	int ready_fd;
	bool check;
	bool verbose;
};

static int take_option(struct arguments *a, int opt, char *const *argv)
{
	switch (opt) {
	case 'c':
		a->config = optarg;
		return -1;
	case 's':
		a->store = optarg;
		return -1;
	case 'l':
		if (a->n_listen == BRICK_LISTEN_MAX)
			return brick_usage_error(
				NULL, "--listen %s: more than %d addresses",
				optarg, BRICK_LISTEN_MAX);
		a->listen[a->n_listen++] = optarg;
		return -1;
	case OPT_AUTH:
		a->auth = optarg;
		return -1;
	case OPT_CHECK:
		a->check = true;
		return -1;
	case OPT_READY_FD:
		if (brick_parse_fd(optarg, &a->ready_fd))
			return brick_usage_error(
				NULL, "--ready-fd %s: no open descriptor",
				optarg);
		return -1;
	case 'v':
		a->verbose = true;
		return -1;
	case 'h':
		fputs(usage, stdout);
		return 0;
	case 'V':
		puts("brickd " BRICK_VERSION);
		return 0;
	default:
		return brick_option_error(NULL, opt, argv, options);
	}
}

/* Return: -1 to go on, or the exit status. */
static int parse_arguments(int argc, char **argv, struct arguments *a)
{
	int opt, status;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":c:l:s:vhV", options, NULL)) !=
	       -1) {
		status = take_option(a, opt, argv);
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return brick_usage_error(NULL, "%s: one word too many",
					 argv[optind]);
	return -1;
}

static int read_file(struct brick_config *config, const struct arguments *a,
		     char *err, size_t err_len)
{
	const char *path = a->config ? a->config : BRICK_CONF_DEFAULT;
	FILE *file;
	int rc;

	/* Flags alone may be enough; then there need be no file. */
	if (!a->config && a->store && access(path, F_OK))
		return 0;
	file = fopen(path, "re");
	if (!file) {
		rc = -errno;
		snprintf(err, err_len, "%s: %s", path, strerror(-rc));
		return rc;
	}
	rc = brick_config_read(config, file, path, err, err_len);
	fclose(file);
	return rc;
}

static int apply_flags(struct brick_config *config, const struct arguments *a,
		       char *err, size_t err_len)
{
	if (a->store && brick_config_set_store(config, a->store, err, err_len))
		return -EINVAL;
	if (a->n_listen)
		config->n_listen = 0;
	for (uint32_t i = 0; i < a->n_listen; i++)
		if (brick_config_add_listen(config, a->listen[i], err, err_len))
			return -EINVAL;
	if (a->auth && !strcmp(a->auth, "none")) {
		config->auth = BRICK_AUTH_NONE;
	} else if (a->auth && !strcmp(a->auth, "required")) {
		config->auth = BRICK_AUTH_REQUIRED;
	} else if (a->auth) {
		snprintf(err, err_len, "--auth is required or none");
		return -EINVAL;
	}
	if (a->verbose)
		config->log_level = LOG_DEBUG;
	return 0;
}

static int load_config(struct brick_config *config, const struct arguments *a)
{
	char err[BRICK_ERR_BYTES] = "";
	int rc;

	rc = read_file(config, a, err, sizeof(err));
	if (!rc)
		rc = apply_flags(config, a, err, sizeof(err));
	if (!rc)
		rc = brick_config_check(config, err, sizeof(err));
	if (!rc)
		rc = brick_config_load_keys(config, err, sizeof(err));
	if (rc)
		brick_log(LOG_ERR, NULL, "%s", *err ? err : strerror(-rc));
	return rc;
}

/*
 * Keys are not swapped out, and neither is anything else that a request may have
 * to wait for. Pages are locked when they are first used; a medium's mapping is
 * not. Under a limit this would make allocations fail: it is left out then.
 */
static void lock_memory(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	if (setrlimit(RLIMIT_MEMLOCK, &limit) &&
	    getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	if (limit.rlim_max == RLIM_INFINITY) {
		limit.rlim_cur = RLIM_INFINITY;
		(void)setrlimit(RLIMIT_MEMLOCK, &limit);
	}
	if (limit.rlim_cur != RLIM_INFINITY)
		brick_log(LOG_NOTICE, NULL,
			  "the limit of locked memory (RLIMIT_MEMLOCK, "
			  "LimitMEMLOCK=) is %llu bytes: clients' keys may be "
			  "swapped out",
			  (unsigned long long)limit.rlim_cur);
	else if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT))
		brick_log(LOG_NOTICE, NULL,
			  "memory cannot be locked (%s): clients' keys may be "
			  "swapped out",
			  strerror(errno));
}

/*
 * A connection over brickd's own tcp takes its socket's descriptor, one over
 * libfabric's providers up to four. Some more are the daemon's, and of
 * connections that come while others go. Clients that find none left are refused,
 * which looks like a network's fault.
 */
static void check_descriptor_limit(const struct brick_config *config)
{
	uint64_t each = 1, wanted;
	struct rlimit limit;

	for (uint32_t i = 0; i < config->n_listen; i++)
		if (!config->listen[i].scheme->is_strict)
			each = 4;
	wanted = (config->limits.sessions * config->limits.queues +
		  config->limits.unauthenticated) *
			 each +
		 128;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	brick_log(LOG_WARNING, NULL,
		  "max-sessions = %llu and max-queues = %llu take %llu "
		  "descriptors, and the limit (RLIMIT_NOFILE, LimitNOFILE=) is "
		  "%llu",
		  (unsigned long long)config->limits.sessions,
		  (unsigned long long)config->limits.queues,
		  (unsigned long long)wanted,
		  (unsigned long long)limit.rlim_cur);
}

/* Is what the settings name there? Whoever checks them may be serving it. */
static int check_stores(const struct brick_config *config)
{
	char err[BRICK_ERR_BYTES] = "";
	int rc = 0;

	if (!brick_media_is_made_at_start(config->store))
		rc = brick_store_look(config->store,
				      config->has_uuid ? config->uuid : NULL,
				      err, sizeof(err));
	if (!rc && config->slow)
		rc = brick_slow_look_at_path(config->slow, err, sizeof(err));
	if (rc)
		brick_log(LOG_ERR, NULL, "%s", *err ? err : strerror(-rc));
	return rc;
}

/* For SIGHUP: the same flags, the same file. */
static int read_again(void *ctx, struct brick_config *fresh)
{
	brick_config_init(fresh);
	return load_config(fresh, ctx);
}

static int serve_until_stopped(struct brick_config *config, struct arguments *a)
{
	static struct brick_server server;
	char err[BRICK_ERR_BYTES] = "", port[16];
	int rc, len, stopped;

	server.reload.read = read_again;
	server.reload.ctx = a;
	rc = brick_server_start(&server, config, err, sizeof(err));
	if (rc) {
		brick_log(LOG_ERR, NULL, "%s", *err ? err : strerror(-rc));
		return BRICK_EXIT_FAILED;
	}
	if (a->ready_fd >= 0) {
		len = snprintf(port, sizeof(port), "%u\n",
			       server.net.fabrics[0].port);
		if (write(a->ready_fd, port, (size_t)len) != len)
			brick_log(LOG_WARNING, NULL,
				  "nobody reads --ready-fd: %s",
				  strerror(errno));
		close(a->ready_fd);
	}
	brick_server_tell_manager(&server);
	rc = brick_server_run(&server);
	if (rc)
		brick_log(LOG_ERR, NULL, "event loop: %s", strerror(-rc));
	stopped = brick_server_stop(&server);
	return rc || stopped ? BRICK_EXIT_FAILED : 0;
}

int main(int argc, char **argv)
{
	struct arguments a = { .ready_fd = -1 };
	struct brick_config config;
	struct rlimit limit;
	int status;

	if (sodium_init() < 0) {
		fputs("brickd: libsodium does not start\n", stderr);
		return BRICK_EXIT_FAILED;
	}
	brick_fabric_prepare();
	/* Whoever stops reading our log or our answers must not end us. */
	signal(SIGPIPE, SIG_IGN);
	brick_command_begin(argc, argv);
	if (argc > 1 && !strcmp(argv[1], "format"))
		return brick_command_format(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "check"))
		return brick_command_check(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "grow"))
		return brick_command_grow(argc - 1, argv + 1);
	status = parse_arguments(argc, argv, &a);
	if (status >= 0)
		return status;
	/* Whoever only looks at the settings may be interrupted. */
	if (!a.check)
		brick_server_hold_signals();
	brick_log_open();
	/* Each connection takes a handful of descriptors. */
	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	brick_config_init(&config);
	/*
	 * Clients' keys are in memory: no core has them, and no other process of
	 * the same user can read or trace this one.
	 */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)) {
		brick_log(LOG_ERR, NULL,
			  "its memory cannot be kept out of cores: %s",
			  strerror(errno));
		status = BRICK_EXIT_FAILED;
	} else if (load_config(&config, &a)) {
		status = BRICK_EXIT_USAGE;
	} else if (a.check) {
		status = check_stores(&config) ? BRICK_EXIT_USAGE : 0;
	} else {
		brick_log_set_level(config.log_level);
		lock_memory();
		check_descriptor_limit(&config);
		status = serve_until_stopped(&config, &a);
	}
	brick_config_fini(&config);
	brick_log_drain();
	return status;
}
