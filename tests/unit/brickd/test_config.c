// SPDX-License-Identifier: BSD-2-Clause
/* The configuration: what is taken, and the line and reason of what is not. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "brickd/base/util.h"
#include "brickd/config/config.h"

static struct brick_config config;
static char err[BRICK_ERR_BYTES];

static int read_bytes(const char *text, size_t len)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, len, "r");
	int rc;

	assert_non_null(file);
	brick_config_fini(&config);
	brick_config_init(&config);
	err[0] = '\0';
	rc = brick_config_read(&config, file, "test.conf", err, sizeof(err));
	fclose(file);
	return rc;
}

static int read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

static int forget(void **state)
{
	brick_config_fini(&config);
	return 0;
}

static void every_setting_is_taken(void **state)
{
	assert_int_equal(read_text(
				 "; a comment\n"
				 "[brick]\n"
				 "store = /dev/dax0.0 ; behind a value\n"
				 "  listen = tcp://127.0.0.1, tcp://[::1]:7\n"
				 "listen = verbs://192.0.2.1:9\n"
				 "listen = libfabric-tcp://127.0.0.1:8\n"
				 "auth = none\n"
				 "persistence = battery\n"
				 "ddio = off\n"
				 "allow-untrusted-tcp = yes\n"
				 "uuid = 00112233-4455-6677-8899-aabbccddeeff\n"
				 "log-level = debug\n"
				 "admin = /a/b.sock\n"
				 "fences = /a/fences\n"
				 "metrics = [::1]:9149\n"
				 "credits = 32\n"
				 "tcp-busy-poll-us = 50\n"
				 "map-extent-max = 64M\n"
				 "slow = /dev/sdx\n"
				 "pin = 0x0+4\n"
				 "pin = 4G+1G\n"
				 "tier-low = 0\n"
				 "tier-high = 3\n"
				 "tier-rate = 100M\n"
				 "promote-wait-ms = 7\n"
				 "[client one]\n"
				 "key-file = /k1\n"
				 "key-file = /k1.new\n"
				 "grant = 0x0+4 rw\n"
				 "grant = 4G+1G ro\n"
				 "quota = 100G\n"
				 "role = fencer\n"
				 "[client two]\r\n"
				 "key-file = /k2"),
			 0);
	assert_string_equal(config.store, "/dev/dax0.0");
	assert_string_equal(config.slow, "/dev/sdx");
	assert_int_equal(config.n_pins, 2);
	assert_int_equal(config.pins[1].end, 5 << 9);
	assert_int_equal(config.limits.tier_low_percent, 0);
	assert_int_equal(config.limits.tier_high_percent, 3);
	assert_int_equal(config.limits.tier_rate_bytes, 100 << 20);
	assert_int_equal(config.limits.promote_wait_ms, 7);
	assert_int_equal(config.n_listen, 4);
	assert_string_equal(config.listen[0].service, "20149");
	assert_true(config.listen[1].loopback);
	assert_string_equal(config.listen[1].host, "::1");
	assert_string_equal(config.listen[2].scheme->name, "verbs");
	assert_false(config.listen[2].loopback);
	assert_string_equal(config.listen[3].scheme->name, "libfabric-tcp");
	assert_string_equal(config.listen[3].service, "8");
	assert_int_equal(config.auth, BRICK_AUTH_NONE);
	assert_int_equal(config.persistence, BRICK_PERSISTENCE_BATTERY);
	assert_int_equal(config.ddio, BRICK_DDIO_OFF);
	assert_true(config.allow_untrusted_tcp);
	assert_true(config.has_uuid);
	assert_int_equal(config.uuid[15], 0xff);
	assert_int_equal(config.log_level, LOG_DEBUG);
	assert_int_equal(config.limits.credits, 32);
	assert_int_equal(config.limits.tcp_busy_poll_us, 50);
	assert_string_equal(config.admin, "/a/b.sock");
	assert_string_equal(config.fences, "/a/fences");
	assert_true(config.has_metrics);
	assert_string_equal(config.metrics.host, "::1");
	assert_string_equal(config.metrics.service, "9149");
	assert_int_equal(config.limits.map_extent_max_bytes, 64 << 20);
	assert_int_equal(config.n_clients, 2);
	assert_int_equal(config.clients[0]->grants.n, 2);
	assert_int_equal(config.clients[0]->grants.list[1].va, 4ULL << 30);
	assert_int_equal(config.clients[0]->grants.list[1].n_blocks, 512);
	assert_int_equal(config.clients[0]->n_keys, 2);
	assert_string_equal(config.clients[0]->keys[1].file, "/k1.new");
	assert_true(config.clients[0]->has_quota);
	assert_int_equal(config.clients[0]->quota_blocks, 51200);
	assert_true(config.clients[0]->is_fencer);
	assert_int_equal(config.clients[1]->n_keys, 1);
	assert_string_equal(config.clients[1]->keys[0].file, "/k2");
	assert_false(config.clients[1]->has_quota);
	assert_false(config.clients[1]->is_fencer);
}

static void reservations_have_a_file_of_their_own(void **state)
{
	assert_int_equal(read_text("[brick]\nreservations = /a/r\n"), 0);
	assert_string_equal(config.reservations, "/a/r");
}

static void an_address_may_name_the_interface_that_it_is_bound_to(void **state)
{
	char url[BRICK_URL_BYTES];

	assert_int_equal(
		read_text("[brick]\nlisten = tcp://10.9.0.1%wg0\n"
			  "listen = tcp://[fd00::1%wg-to-brick-123]:7\n"),
		0);
	assert_string_equal(config.listen[0].host, "10.9.0.1");
	assert_string_equal(config.listen[0].interface, "wg0");
	assert_string_equal(config.listen[0].service, "20149");
	brick_address_format(&config.listen[0], 0, url);
	assert_string_equal(url, "tcp://10.9.0.1%wg0:20149");
	assert_string_equal(config.listen[1].interface, "wg-to-brick-123");
	brick_address_format(&config.listen[1], 0, url);
	assert_string_equal(url, "tcp://[fd00::1%wg-to-brick-123]:7");
}

/* Unless the file says so itself, one client cannot have all of anything. */
static void a_client_has_a_quarter_unless_the_file_says_so(void **state)
{
	const struct brick_limits *l = &config.limits;

	assert_int_equal(read_text("[brick]\nstore = x\n"), 0);
	assert_int_equal(l->sessions_per_client, 64);
	assert_int_equal(l->pending_per_client, 256);
	assert_int_equal(read_text("[brick]\nmax-sessions = 40\n"
				   "max-pending-total = 9\n"),
			 0);
	assert_int_equal(l->sessions_per_client, 10);
	assert_int_equal(l->pending_per_client, 2);
	assert_int_equal(read_text("[brick]\nmax-sessions = 3\n"
				   "max-pending-per-client = 900\n"),
			 0);
	assert_int_equal(l->sessions_per_client, 1);
	assert_int_equal(l->pending_per_client, 900);
	assert_int_equal(read_text("[brick]\nmax-sessions-per-client = 256\n"
				   "max-sessions = 300\n"),
			 0);
	assert_int_equal(l->sessions_per_client, 256);
	/* What nobody reads from a file is the same. */
	brick_config_fini(&config);
	brick_config_init(&config);
	assert_int_equal(l->sessions_per_client, 64);
	assert_int_equal(l->pending_per_client, 256);
}

static void what_several_may_write_is_counted_once(void **state)
{
	uint64_t n;

	assert_int_equal(read_text("[brick]\n"), 0);
	assert_int_equal(brick_config_writable(&config, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(read_text("[client a]\ngrant = 20M+10 rw\n"
				   "grant = 0x0+2 rw\n"
				   "grant = 1T+1T ro\n"
				   "[client b]\ngrant = 24M+2 rw\n"
				   "grant = 38M+5 rw\n"),
			 0);
	assert_int_equal(brick_config_writable(&config, &n), 0);
	assert_int_equal(n, 2 + 10 + 4);
}

/* Whoever keeps a table of clients by number finds each in its own place. */
static void clients_of_a_reload_get_numbers_of_their_own(void **state)
{
	struct brick_config fresh;
	FILE *file;

	assert_int_equal(read_text("[client a]\n[client b]\n"), 0);
	file = fmemopen((char[]){ "[client c]\n[client b]\n[client d]\n" }, 33,
			"r");
	assert_non_null(file);
	brick_config_init(&fresh);
	assert_int_equal(brick_config_read(&fresh, file, "fresh.conf", err,
					   sizeof(err)),
			 0);
	fclose(file);
	assert_int_equal(brick_config_take_clients(&config, &fresh), 0);
	brick_config_fini(&fresh);
	assert_int_equal(config.n_clients, 4);
	for (uint32_t i = 0; i < config.n_clients; i++)
		assert_int_equal(config.clients[i]->number, i);
}

/* Blocks would change hands under those who have them mapped. */
static void another_group_waits_for_a_restart(void **state)
{
	char text[] = "[client a]\ngroup = h\n[client b]\ngroup = g\n";
	struct brick_config fresh;
	uint32_t owner;
	FILE *file;

	assert_int_equal(read_text("[client a]\ngroup = g\n"), 0);
	config.store = strdup("s");
	owner = config.clients[0]->owner;
	file = fmemopen(text, strlen(text), "r");
	assert_non_null(file);
	brick_config_init(&fresh);
	assert_int_equal(brick_config_read(&fresh, file, "fresh.conf", err,
					   sizeof(err)),
			 0);
	fclose(file);
	fresh.store = strdup("s");
	assert_int_equal(
		brick_config_differs(&config, &fresh, err, sizeof(err)), 1);
	assert_string_equal(err, "group");
	assert_int_equal(brick_config_take_clients(&config, &fresh), 0);
	assert_int_equal(config.clients[0]->owner, owner);
	assert_string_equal(config.clients[0]->group, "g");
	/* One that comes has what its section says. */
	assert_int_equal(config.clients[1]->owner, owner);
	brick_config_fini(&fresh);
}

static void another_rate_is_taken_by_a_reload(void **state)
{
	char text[] = "[client a]\nrate-ops = 10\n[client b]\n";
	struct brick_config fresh;
	FILE *file;

	assert_int_equal(read_text("[client a]\nrate-bytes = 1T\n"
				   "rate-ops = 5000\n"
				   "[client b]\nrate-bytes = 1M\n"),
			 0);
	assert_int_equal(config.clients[0]->rate.ops_per_s, 5000);
	assert_int_equal(config.clients[1]->rate.ops_per_s, 0);
	assert_int_equal(config.clients[0]->rate.bytes_per_s,
			 KFB_RATE_BYTES_MAX);
	assert_int_equal(config.clients[1]->rate.bytes_per_s,
			 KFB_RATE_BYTES_MIN);
	file = fmemopen(text, strlen(text), "r");
	assert_non_null(file);
	brick_config_init(&fresh);
	assert_int_equal(brick_config_read(&fresh, file, "fresh.conf", err,
					   sizeof(err)),
			 0);
	fclose(file);
	assert_int_equal(brick_config_take_clients(&config, &fresh), 0);
	brick_config_fini(&fresh);
	assert_int_equal(config.clients[0]->rate.bytes_per_s, 0);
	assert_int_equal(config.clients[0]->rate.ops_per_s, 10);
	assert_false(kfb_rate_is_set(&config.clients[1]->rate));
}

#define LONG_NAME "n23456789012345678901234567890123456789012345678"
#define TEN	  "0123456789"
#define HUNDRED	  TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct {
	const char *text;
	const char *says; /* "LINE: " and a part of the reason */
} bad[] = {
	{ "store = x\n", "1: \"store\" stands before any section" },
	{ "[brick]\nstore\n", "2: neither [SECTION] nor NAME = VALUE" },
	{ "\n[brick\n", "2: section without a closing bracket" },
	{ "[brick] x\n", "1: text after the section's" },
	{ "[brock]\n", "1: a section is [brick] or [client NAME]" },
	{ "[clients]\n", "1: a section is" },
	{ "[brick]\n[brick]\n", "2: [brick] is there twice" },
	{ "[brick]\ncolour = red\n", "2: [brick] has no setting \"colour\"" },
	{ "[brick]\nstore =\n", "2: store needs a path" },
	{ "[brick]\nstore = a\nstore = b\n", "3: store is given twice" },
	{ "[brick]\nlisten = udp://127.0.0.1\n",
	  "2: \"udp://127.0.0.1\" has an unknown scheme; the schemes are "
	  "tcp, libfabric-tcp, verbs" },
	{ "[brick]\nlisten = tcp://brick.example\n", "numeric host" },
	{ "[brick]\nlisten = tcp://127.0.0.1:65536\n", "no port from 0" },
	{ "[brick]\nlisten = tcp://127.0.0.1:\n", "no port from 0" },
	{ "[brick]\nlisten = tcp://[::1\n", "numeric host" },
	{ "[brick]\nlisten = tcp://[::1]x\n", "numeric host" },
	{ "[brick]\nlisten = tcp://10.9.0.1%\n", "no interface behind" },
	{ "[brick]\nlisten = tcp://10.9.0.1%wg0%wg1\n", "no interface behind" },
	{ "[brick]\nlisten = tcp://10.9.0.1%a234567890123456\n",
	  "no interface behind" },
	{ "[brick]\nlisten = tcp://%wg0\n", "numeric host" },
	{ "[brick]\nlisten = tcp://[fd00::1]%wg0\n", "numeric host" },
	{ "[brick]\nlisten = verbs://10.9.0.1%wg0\n",
	  "2: \"verbs://10.9.0.1%wg0\": only tcp:// is bound" },
	{ "[brick]\nlisten = libfabric-tcp://10.9.0.1%wg0\n",
	  "only tcp:// is bound" },
	{ "[brick]\nmetrics = 10.9.0.1%wg0:80\n", "bound to no interface" },
	{ "[brick]\npersistence = yes\n",
	  "2: persistence is \"auto\", \"battery\" or \"assume-readback\"" },
	{ "[brick]\nddio = no\n", "2: ddio is \"unknown\", \"on\" or \"off\"" },
	{ "[brick]\nauth = maybe\n", "2: auth is \"required\" or \"none\"" },
	{ "[brick]\nallow-untrusted-tcp = 1\n", "neither yes nor no" },
	{ "[brick]\ntcp-busy-poll-us = 10001\n",
	  "2: tcp-busy-poll-us is a number" },
	{ "[brick]\nslow =\n", "2: slow needs a path" },
	{ "[brick]\npin = 1\n", "2: \"1\": " },
	{ "[brick]\ntier-low = 100\n", "2: tier-low is a number" },
	{ "[brick]\nuuid = 1234\n", "2: \"1234\" is not a uuid" },
	{ "[brick]\nlog-level = loud\n", "2: log-level is" },
	{ "[brick]\nadmin =\n", "2: admin needs a path" },
	{ "[brick]\nadmin = /" HUNDRED "1234567\n", "2: admin is longer" },
	{ "[brick]\nmetrics = 127.0.0.1\n", "2: metrics is HOST:PORT" },
	{ "[brick]\nmetrics = [::1]\n", "2: metrics is HOST:PORT" },
	{ "[brick]\nmetrics = tcp://127.0.0.1:1\n", "2: metrics is HOST" },
	{ "[brick]\nmetrics = page.example:80\n",
	  "2: \"page.example:80\" needs" },
	{ "[brick]\nmetrics = 127.0.0.1:x\n", "2: \"127.0.0.1:x\" has no" },
	{ "[brick]\nallow-remote-metrics = on\n", "neither yes nor no" },
	{ "[brick]\ncredits = 3\n", "2: credits is a number from 4 to 64" },
	{ "[brick]\ncredits = 65\n", "2: credits is a number from 4 to 64" },
	{ "[brick]\nmax-sessions = many\n", "2: max-sessions is a number" },
	{ "[brick]\nmap-extent-max = 2G\n", "2: map-extent-max is" },
	{ "[client]\n", "1: a client's name is" },
	{ "[client a b]\n", "1: a client's name is" },
	{ "[client " LONG_NAME "]\n", "1: section name is longer than 49" },
	{ "[client 12345678901234567890123456789012345678901]\n",
	  "1: a client's name is" },
	{ "[client a]\n[client b]\n[client a]\n",
	  "3: client a is the same as client a of line 1" },
	{ "[client a]\nkey-file = x\nkey-file = y\nkey-file = z\n",
	  "4: a client cannot have more than 2 key files" },
	{ "[client a]\nkey-file =\n", "2: key-file needs a path" },
	{ "[client a]\nkey = x\n", "2: [client] has no setting \"key\"" },
	{ "[client a]\ngrant = 0x0+1\n", "2: a grant is" },
	{ "[client a]\ngrant = 0x0+1 rw ro\n", "2: a grant is" },
	{ "[client a]\ngrant = 0x0+1 rx\n", "2: \"rx\" is neither ro nor rw" },
	{ "[client a]\ngrant = 0x1+1 rw\n", "2: \"0x1+1\": " },
	{ "[client a]\ngrant = 0x0+0 rw\n", "2: \"0x0+0\": " },
	{ "[client a]\nquota = 1G\nquota = 1G\n", "3: quota is given twice" },
	{ "[client a]\nrole = admin\n", "2: the only role is \"fencer\"" },
	{ "[client a]\nrole =\n", "2: the only role is \"fencer\"" },
	{ "[client a]\ngroup =\n", "2: a group's name is 1 to 40" },
	{ "[client a]\ngroup = b c\n", "2: a group's name is 1 to 40" },
	{ "[client a]\ngroup = b\ngroup = b\n", "3: group is given twice" },
	{ "[brick]\nfences = f\n", "2: fences needs a path that begins" },
	{ "[brick]\nfences =\n", "2: fences needs a path" },
	{ "[brick]\nreservations = r\n",
	  "2: reservations needs a path that begins" },
	{ "[client a]\nquota =\n", "2: quota \"\": " },
	{ "[client a]\nquota = 3M\n", "2: quota \"3M\": not a multiple" },
	{ "[client a]\nquota = none\n", "2: quota \"none\": " },
	{ "[client a]\nquota = 4294967296\n", "2: a quota is at most" },
	{ "[client a]\nrate-bytes =\n",
	  "2: rate-bytes is a number from 1048576 to 1099511627776" },
	{ "[client a]\nrate-bytes = fast\n", "2: rate-bytes is a number" },
	{ "[client a]\nrate-bytes = 0\n", "2: rate-bytes is a number" },
	{ "[client a]\nrate-bytes = 1048575\n", "2: rate-bytes is a number" },
	{ "[client a]\nrate-bytes = 1025G\n", "2: rate-bytes is a number" },
	{ "[client a]\nrate-bytes = 1M\nrate-bytes = 1M\n",
	  "3: rate-bytes is given twice" },
	{ "[client a]\nrate-ops = 9\n",
	  "2: rate-ops is a number from 10 to 4294967295" },
	{ "[client a]\nrate-ops = 4294967296\n", "2: rate-ops is a number" },
	{ "[client a]\nrate-ops = 10\nrate-ops = 20\n",
	  "3: rate-ops is given twice" },
	{ "[brick]\nrate-bytes = 1M\n", "2: [brick] has no setting" },
	{ "[brick]\nstore = " HUNDRED HUNDRED "\n",
	  "2: line is longer than 198" },
	{ "[brick]\nstore = a\001b\n", "2: control character" },
};

static void every_error_names_its_line_and_reason(void **state)
{
	for (size_t i = 0; i < BRICK_ARRAY_SIZE(bad); i++) {
		assert_int_equal(read_text(bad[i].text), -EINVAL);
		assert_memory_equal(err, "test.conf:", 10);
		if (!strstr(err, bad[i].says))
			fail_msg("\"%s\" is not in \"%s\"", bad[i].says, err);
	}
}

static void the_first_of_several_errors_is_told(void **state)
{
	assert_int_equal(
		read_text("[brick]\nauth = 1\nauth = 2\ncredits = x\n"),
		-EINVAL);
	assert_non_null(strstr(err, "test.conf:2: auth"));
}

static void a_nul_byte_is_refused(void **state)
{
	assert_int_equal(read_bytes("[brick]\nstore = a\0b\n", 20), -EINVAL);
	assert_non_null(strstr(err, "2: control character"));
}

static void a_byte_order_mark_is_skipped(void **state)
{
	assert_int_equal(read_text("\xef\xbb\xbf[brick]\nstore = x\n"), 0);
	assert_string_equal(config.store, "x");
}

static void a_line_of_198_characters_is_taken_whole(void **state)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "[brick]\nstore = %s%.90s\n",
			 HUNDRED, HUNDRED);

	assert_int_equal(n, 8 + 198 + 1);
	assert_int_equal(read_text(text), 0);
	assert_int_equal(strlen(config.store), 190);
}

/* Two names with one FNV-1a hash, found by search. */
static void two_names_with_one_hash_are_refused(void **state)
{
	assert_int_equal(brick_owner_hash("costarring"),
			 brick_owner_hash("liquid"));
	assert_int_equal(read_text("[client costarring]\n[client liquid]\n"),
			 -EINVAL);
	assert_non_null(strstr(err, "looks on the media like"));
}

static void those_of_a_group_own_together(void **state)
{
	assert_int_equal(read_text("[client a]\ngroup = g\n[client g]\n"
				   "[client b]\ngroup = g\n"
				   "[client c]\ngroup = h\n[client d]\n"),
			 0);
	assert_string_equal(config.clients[2]->group, "g");
	assert_string_equal(config.clients[1]->group, "");
	assert_int_equal(config.clients[0]->owner, config.clients[2]->owner);
	for (uint32_t i = 1; i < config.n_clients; i++)
		for (uint32_t j = i + 1; j < config.n_clients; j++)
			assert_int_not_equal(config.clients[i]->owner,
					     config.clients[j]->owner);
	assert_int_equal(config.clients[4]->owner, brick_owner_hash("d"));
}

static void a_client_in_a_group_keeps_its_name_to_itself(void **state)
{
	assert_int_equal(read_text("[client a]\ngroup = g\n[client a]\n"),
			 -EINVAL);
	assert_non_null(strstr(err, "3: client a is the same as client a"));
	assert_int_equal(
		read_text("[client costarring]\ngroup = g\n[client liquid]\n"),
		-EINVAL);
	assert_non_null(strstr(err, "looks on the media like"));
}

static const struct {
	const char *text;
	const char *says; /* NULL: allowed */
} wholes[] = {
	{ "[brick]\nstore=s\n[client a]\nkey-file=k\n", NULL },
	{ "[brick]\nstore=s\nauth=none\n", NULL },
	{ "[brick]\nstore=s\n", "nobody could connect" },
	{ "[brick]\n[client a]\nkey-file=k\n", "no store" },
	{ "[brick]\nstore=s\n[client a]\n", "test.conf:3: client a has no" },
	{ "[brick]\nstore=s\nlisten=tcp://192.0.2.1\n[client a]\nkey-file=k\n",
	  "test.conf:3: tcp://192.0.2.1:20149 is not a loopback" },
	{ "[brick]\nstore=s\nlisten=libfabric-tcp://192.0.2.1\n[client a]\nkey-file=k\n",
	  "test.conf:3: libfabric-tcp://192.0.2.1:20149 is not a loopback" },
	{ "[brick]\nstore=s\nlisten=tcp://0.0.0.0\n[client a]\nkey-file=k\n",
	  "is not a loopback" },
	{ "[brick]\nstore=s\nlisten=tcp://192.0.2.1%wg0\n[client a]\nkey-file=k\n",
	  NULL },
	{ "[brick]\nstore=s\nlisten=tcp://0.0.0.0%wg0\nauth=none\n",
	  "tcp://0.0.0.0%wg0:20149 would let anybody in" },
	{ "[brick]\nstore=s\nlisten=tcp://192.0.2.1\n"
	  "allow-untrusted-tcp=yes\n[client a]\nkey-file=k\n",
	  NULL },
	{ "[brick]\nstore=s\nlisten=verbs://192.0.2.1\nauth=none\n",
	  "would let anybody in" },
	{ "[brick]\nstore=s\nlisten=verbs://192.0.2.1\nauth=none\n"
	  "allow-remote-anonymous=yes\n",
	  NULL },
	{ "[brick]\nstore=s\nauth=none\nmetrics=[::1]:9\n", NULL },
	{ "[brick]\nstore=s\nauth=none\n\nmetrics=192.0.2.1:9\n",
	  "test.conf:5: metrics on 192.0.2.1:9 can be read by everybody" },
	{ "[brick]\nstore=s\nauth=none\nmetrics=[::]:9\n",
	  "metrics on [::]:9 can be read" },
	{ "[brick]\nstore=s\nauth=none\nmetrics=192.0.2.1:9\n"
	  "allow-remote-metrics=yes\n",
	  NULL },
};

static void what_does_not_fit_together_is_refused(void **state)
{
	for (size_t i = 0; i < BRICK_ARRAY_SIZE(wholes); i++) {
		int rc;

		assert_int_equal(read_text(wholes[i].text), 0);
		rc = brick_config_check(&config, err, sizeof(err));
		assert_int_equal(rc, wholes[i].says ? -EINVAL : 0);
		if (wholes[i].says && !strstr(err, wholes[i].says))
			fail_msg("\"%s\" is not in \"%s\"", wholes[i].says,
				 err);
	}
}

#define KEY_TEXT \
	"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff"

static int load(const char *content, mode_t mode)
{
	char path[] = "/tmp/kfbrick-key-XXXXXX", text[128];
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	snprintf(text, sizeof(text), "[client a]\nkey-file = %s\n", path);
	assert_int_equal(read_text(text), 0);
	rc = brick_config_load_keys(&config, err, sizeof(err));
	unlink(path);
	return rc;
}

static void a_key_is_read_from_a_private_file(void **state)
{
	assert_int_equal(load(KEY_TEXT "\n", 0600), 0);
	assert_int_equal(config.clients[0]->keys[0].bytes[1], 1);
	assert_int_equal(config.clients[0]->keys[0].bytes[31], 0xff);
	assert_int_equal(load(KEY_TEXT, 0400), 0);
	assert_int_equal(load(KEY_TEXT "\r\n", 0600), 0);
}

static void a_key_that_others_can_read_is_refused(void **state)
{
	assert_int_equal(load(KEY_TEXT, 0640), -EACCES);
	assert_non_null(strstr(err, "chmod 600"));
	assert_non_null(strstr(err, "test.conf:1: "));
	assert_int_equal(load(KEY_TEXT, 0604), -EACCES);
}

static void a_key_that_is_none_is_refused_and_not_shown(void **state)
{
	assert_int_equal(load("abcdef", 0600), -EINVAL);
	assert_int_equal(load(KEY_TEXT "0", 0600), -EINVAL);
	assert_int_equal(load(KEY_TEXT "\n0", 0600), -EINVAL);
	assert_null(strstr(err, "0001020304"));
	assert_int_equal(load("", 0600), -EINVAL);
}

static void a_missing_key_file_is_named(void **state)
{
	assert_int_equal(read_text("[client a]\nkey-file = /nonexistent/k\n"),
			 0);
	assert_int_equal(brick_config_load_keys(&config, err, sizeof(err)),
			 -ENOENT);
	assert_non_null(strstr(err, "/nonexistent/k"));
}

static void a_uuid_survives_text(void **state)
{
	static const char text[] = "00112233-4455-6677-8899-aabbccddeeff";
	char back[BRICK_UUID_TEXT_BYTES];
	uint8_t uuid[KFB_UUID_BYTES];

	assert_int_equal(brick_uuid_parse(text, uuid), 0);
	brick_uuid_format(uuid, back);
	assert_string_equal(back, text);
	assert_int_equal(
		brick_uuid_parse("00112233-4455-6677-8899-aabbccddeefg", uuid),
		-EINVAL);
	assert_int_equal(
		brick_uuid_parse("00112233x4455-6677-8899-aabbccddeeff", uuid),
		-EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_setting_is_taken),
		cmocka_unit_test(reservations_have_a_file_of_their_own),
		cmocka_unit_test_teardown(
			an_address_may_name_the_interface_that_it_is_bound_to,
			forget),
		cmocka_unit_test_teardown(
			a_client_has_a_quarter_unless_the_file_says_so, forget),
		cmocka_unit_test_teardown(
			what_several_may_write_is_counted_once, forget),
		cmocka_unit_test_teardown(
			clients_of_a_reload_get_numbers_of_their_own, forget),
		cmocka_unit_test(every_error_names_its_line_and_reason),
		cmocka_unit_test(the_first_of_several_errors_is_told),
		cmocka_unit_test(a_nul_byte_is_refused),
		cmocka_unit_test(a_byte_order_mark_is_skipped),
		cmocka_unit_test(a_line_of_198_characters_is_taken_whole),
		cmocka_unit_test(two_names_with_one_hash_are_refused),
		cmocka_unit_test(those_of_a_group_own_together),
		cmocka_unit_test(a_client_in_a_group_keeps_its_name_to_itself),
		cmocka_unit_test(another_group_waits_for_a_restart),
		cmocka_unit_test(another_rate_is_taken_by_a_reload),
		cmocka_unit_test(what_does_not_fit_together_is_refused),
		cmocka_unit_test(a_key_is_read_from_a_private_file),
		cmocka_unit_test(a_key_that_others_can_read_is_refused),
		cmocka_unit_test(a_key_that_is_none_is_refused_and_not_shown),
		cmocka_unit_test(a_missing_key_file_is_named),
		cmocka_unit_test(a_uuid_survives_text),
	};

	return cmocka_run_group_tests(tests, NULL, forget);
}
