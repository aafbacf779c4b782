// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl attach: a range of a brick becomes a disk of this machine.
 *
 * The work is the kernel driver's. Names are looked up here, and the client's
 * key is handed over in the kernel's keyring of this process: it is on no
 * command line and in no file of the driver, and gone from the keyring when
 * this process ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/keyctl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "initiator/brickctl/base/clock.h"
#include "initiator/brickctl/disk/attach.h"
#include "initiator/lib/url.h"

#define ORDER_BYTES 1024
#define MS_PER_S    1000
#define QUEUES_MAX  8
#define SECTOR_MAX  4096
#define RETAIN_MAX  65536
#define WHY_BYTES   512
#define WAIT_MAX_S  86400
#define PAUSE_MAX_S 5 /* between tries, after the first ones */

enum {
	OPT_BASE,
	OPT_SIZE,
	OPT_QUEUES,
	OPT_THIN,
	OPT_RO,
	OPT_SHARED,
	OPT_FAIL,
	OPT_PROVIDER,
	OPT_SECTOR,
	OPT_RETAIN,
	OPT_MAP_CACHE,
	OPT_NAME,
	OPT_RESIZE,
	OPT_ADDRESS,
	OPT_WAIT,
};

static const struct ctl_option options[] = {
	[OPT_BASE] = { "base", 0, "VA", "address of the first block; 0" },
	[OPT_SIZE] = { "size", 0, "N", "blocks, or bytes with a suffix" },
	[OPT_QUEUES] = { "queues", 0, "N", "connections, at most 8" },
	[OPT_THIN] = { "thin", 0, NULL,
		       "allocate blocks when they are first written" },
	[OPT_RO] = { "ro", 0, NULL, "read only" },
	[OPT_SHARED] = { "shared", 0, NULL,
			 "other hosts write the same blocks; allocates none" },
	[OPT_FAIL] = { "fail", 0, "WHEN",
		       "never, or io-error after --reconnect-s" },
	[OPT_PROVIDER] = { "provider", 0, "NAME",
			   "kfabric's, when it is not the URL's" },
	[OPT_SECTOR] = { "sector", 0, "BYTES", "512 or 4096; 4096" },
	[OPT_RETAIN] = { "retain-mb", 0, "N",
			 "MiB of writes to keep until they are durable" },
	[OPT_MAP_CACHE] = { "map-cache", 0, "N",
			    "blocks, or bytes, mapped at one time; 0: all" },
	[OPT_NAME] = { "name", 0, "NAME", "also /dev/kfbrick/NAME" },
	[OPT_RESIZE] = { "resize", 0, "DISK", "let an attached disk grow" },
	[OPT_ADDRESS] = { "address", 0, "URL",
			  "the brick's on another network; may be repeated" },
	[OPT_WAIT] = { "wait-s", 0, "SECONDS",
		       "wait for blocks that somebody else has mapped; 0" },
	{ NULL },
};

/* The kernel looks up no names: the first address of the host. */
static int add_address(struct ctl *ctl, FILE *order, const struct kfbl_url *url)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char address[NI_MAXHOST];
	struct addrinfo *found;
	int rc;

	rc = getaddrinfo(url->host, url->port, &hints, &found);
	if (rc)
		return ctl_fail(ctl, CTL_UNREACHED, -EHOSTUNREACH,
				"see that this is the brick's address",
				"%s: no host \"%s\": %s", url->text, url->host,
				gai_strerror(rc));
	rc = getnameinfo(found->ai_addr, found->ai_addrlen, address,
			 sizeof(address), NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(found);
	if (rc)
		return ctl_fail(ctl, CTL_UNREACHED, -EHOSTUNREACH,
				"name it by its address", "%s: %s", url->text,
				gai_strerror(rc));
	fprintf(order, ",addr=%s,port=%s", address, url->port);
	return CTL_DONE;
}

/* Where else the brick is: on the same kind of fabric, which need not be named. */
static int add_other_address(struct ctl *ctl, FILE *order,
			     const struct kfbl_url *first, const char *value)
{
	const char *scheme = strstr(value, "://") ? "" : first->scheme->name;
	char text[KFBL_HOST_MAX + 32];
	struct kfbl_url url;
	char why[WHY_BYTES];
	int len = snprintf(text, sizeof(text), "%s%s%s", scheme,
			   *scheme ? "://" : "", value);

	if (len < 0 || (size_t)len >= sizeof(text))
		return ctl_usage(ctl, "--address: the name is too long");
	if (kfbl_url_parse(text, &url, why, sizeof(why)))
		return ctl_usage(ctl, "--address: %s", why);
	if (url.scheme != first->scheme)
		return ctl_usage(ctl,
				 "--address %s: a disk has one kind of fabric, "
				 "and the brick's first address is of %s://",
				 value, first->scheme->name);
	return add_address(ctl, order, &url);
}

/* The key goes into the keyring of this process: the driver copies it there. */
static int hand_over_key(struct ctl *ctl, FILE *order)
{
	const struct ctl_settings *s = &ctl->settings;
	uint8_t key[KFBRICK_KEY_BYTES];
	char name[128];
	long rc;
	int err;

	err = ctl_read_key(ctl, key);
	if (err)
		return err;
	snprintf(name, sizeof(name), "kfbrick:%s", s->client);
	rc = syscall(SYS_add_key, "logon", name, key, sizeof(key),
		     KEY_SPEC_PROCESS_KEYRING);
	err = rc < 0 ? -errno : 0;
	explicit_bzero(key, sizeof(key));
	if (err)
		return ctl_fail(ctl, CTL_USAGE, err,
				"see that the kernel has keyrings and quota",
				"the kernel's keyring takes no key: %s",
				strerror(-err));
	fprintf(order, ",client=%s,key=%s", s->client, name);
	return CTL_DONE;
}

/* N is blocks, or bytes with a suffix, from some address on. */
static int read_size(struct ctl *ctl, const char *base, const char *size,
		     uint64_t *va, uint64_t *n)
{
	char *text = NULL;
	int status;

	if (asprintf(&text, "%s+%s", base, size) < 0)
		return ctl_no_memory(ctl);
	status = ctl_read_range(ctl, text, va, n);
	free(text);
	return status;
}

/* What has a number is the driver's to choose where it is not given. */
static const struct {
	int option;
	const char *key;
	uint64_t most;
} numbers[] = {
	{ OPT_SECTOR, "sector", SECTOR_MAX },
	{ OPT_QUEUES, "queues", QUEUES_MAX },
	{ OPT_RETAIN, "retain_mb", RETAIN_MAX },
};

static int add_numbers(struct ctl *ctl, FILE *order,
		       const struct ctl_args *args)
{
	const char *base = args->options[OPT_BASE];
	const char *size = args->options[OPT_SIZE];
	const char *cache = args->options[OPT_MAP_CACHE];
	uint64_t va, n;
	int status;
	size_t i;

	if (!size)
		return ctl_usage(ctl, "give --size");
	status = read_size(ctl, base ? base : "0x0", size, &va, &n);
	if (!status)
		fprintf(order, ",base=0x%" PRIx64 ",blocks=%" PRIu64, va, n);
	for (i = 0; !status && i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		status = ctl_read_option(ctl, args, numbers[i].option, 0,
					 numbers[i].most, &n);
		if (!status && args->options[numbers[i].option])
			fprintf(order, ",%s=%" PRIu64, numbers[i].key, n);
	}
	if (status || !cache || !strcmp(cache, "0"))
		return status;
	status = read_size(ctl, "0x0", cache, &va, &n);
	if (!status && n)
		fprintf(order, ",map_cache=%" PRIu64, n);
	return status;
}

static int add_rest(struct ctl *ctl, FILE *order, const struct ctl_args *args)
{
	const struct ctl_settings *s = &ctl->settings;
	const char *name = args->options[OPT_NAME];
	const char *fail = args->options[OPT_FAIL];

	/* The driver knows what a name may be; here it must only stay one word. */
	if (name && strpbrk(name, ",="))
		return ctl_usage(ctl, "--name \"%s\" has a ',' or a '='", name);
	if (name)
		fprintf(order, ",name=%s", name);
	if (fail && strcmp(fail, "never") != 0 && strcmp(fail, "io-error") != 0)
		return ctl_usage(ctl, "--fail is never or io-error");
	if (fail)
		fprintf(order, ",fail=%s", fail);
	if (args->options[OPT_THIN])
		fprintf(order, ",thin");
	if (args->options[OPT_RO])
		fprintf(order, ",ro");
	if (args->options[OPT_SHARED])
		fprintf(order, ",shared");
	if (s->allow_untrusted_tcp)
		fprintf(order, ",allow_untrusted_tcp");
	if (s->reconnect_ms)
		fprintf(order, ",reconnect_s=%u", s->reconnect_ms / MS_PER_S);
	if (s->timeout_ms)
		fprintf(order, ",timeout_s=%u",
			(s->timeout_ms + MS_PER_S - 1) / MS_PER_S);
	return CTL_DONE;
}

static int make_order(struct ctl *ctl, FILE *order, const struct ctl_args *args,
		      const struct kfbl_url *url)
{
	const char *provider = args->options[OPT_PROVIDER];
	int status;
	int i;

	if (!provider)
		provider = url->scheme->kernel;
	if (!provider)
		return ctl_usage(ctl,
				 "no provider of the kernel speaks %s://; "
				 "--provider names one that does",
				 url->scheme->name);
	fputs("attach", order);
	status = add_address(ctl, order, url);
	for (i = 0; !status && i < args->n_repeated; i++)
		status = add_other_address(ctl, order, url, args->repeated[i]);
	if (status)
		return status;
	fprintf(order, ",provider=%s", provider);
	status = add_numbers(ctl, order, args);
	if (!status)
		status = add_rest(ctl, order, args);
	if (!status && ctl->settings.client)
		status = hand_over_key(ctl, order);
	return status;
}

static int show_device(struct ctl *ctl, unsigned long instance)
{
	struct json_object *object;
	char path[64];

	snprintf(path, sizeof(path), "/dev/kfbrick%lu", instance);
	object = json_object_new_object();
	ctl_json_text(object, "device", path);
	ctl_json_count(object, "instance", instance);
	return ctl_done(ctl, object, "%s\n", path);
}

/* A disk that grows keeps its brick, and all that was said at its attach. */
static int resize_disk(struct ctl *ctl, const struct ctl_args *args)
{
	const char *disk = args->options[OPT_RESIZE];
	char answer[CTL_ANSWER_BYTES];
	unsigned int number;
	char order[64];
	uint64_t n = 0;
	uint64_t va = 0;
	int status;

	if (!args->options[OPT_SIZE])
		return ctl_usage(ctl, "give --size");
	status = ctl_disk_number(ctl, disk, &number);
	if (status)
		return status;
	status = read_size(ctl, "0x0", args->options[OPT_SIZE], &va, &n);
	if (status)
		return status;
	snprintf(order, sizeof(order), "resize,instance=%u,blocks=%" PRIu64,
		 number, n);
	status = ctl_control(ctl, disk, order, answer);
	return status ? status : show_device(ctl, number);
}

/* What a host that has gone without a word had is free when its lease is over. */
static int order_until_free(struct ctl *ctl, const char *brick,
			    const char *order, uint64_t wait_s,
			    char answer[CTL_ANSWER_BYTES])
{
	const uint64_t until_ms = ctl_now_ms() + wait_s * MS_PER_S;
	struct ctl_caught caught = { .error = 0 };
	unsigned int pause_s = 1;
	bool is_told = !wait_s || ctl->json;
	int status;

	for (;;) {
		ctl->catching = &caught;
		status = ctl_control(ctl, brick, order, answer);
		ctl->catching = NULL;
		if (!status)
			return status;
		if (caught.error != -EBUSY || ctl_now_ms() >= until_ms)
			break;
		if (!is_told)
			fprintf(stderr,
				"brickctl: attach: %s; waiting for up to %" PRIu64
				" s\n",
				caught.message, wait_s);
		is_told = true;
		sleep(pause_s);
		pause_s = MIN(2 * pause_s, PAUSE_MAX_S);
	}
	return ctl_fail(ctl, status, caught.error, caught.next, "%s",
			caught.message);
}

static int give_order(struct ctl *ctl, const struct ctl_args *args,
		      const char *brick, const char *order)
{
	static const char name[] = "instance=";
	char answer[CTL_ANSWER_BYTES];
	const char *number = answer + sizeof(name) - 1;
	unsigned long instance;
	uint64_t wait_s = 0;
	char *end;
	int status;

	status = ctl_read_option(ctl, args, OPT_WAIT, 0, WAIT_MAX_S, &wait_s);
	if (status)
		return status;
	ctl_load_driver();
	status = order_until_free(ctl, brick, order, wait_s, answer);
	if (status)
		return status;
	if (strncmp(answer, name, sizeof(name) - 1) != 0 ||
	    (instance = strtoul(number, &end, 10), end == number))
		return ctl_fail(ctl, CTL_REFUSED, -EPROTO,
				"use a brickctl of the driver's version",
				"the kernel driver answers \"%s\"", answer);
	return show_device(ctl, instance);
}

static int run_attach(struct ctl *ctl, const struct ctl_args *args)
{
	struct kfbl_url url;
	char *text = NULL;
	FILE *order;
	size_t len;
	char why[WHY_BYTES];
	int status;

	if (args->options[OPT_RESIZE])
		return resize_disk(ctl, args);
	if (args->n_words) {
		free(ctl->settings.brick);
		ctl->settings.brick = strdup(args->words[0]);
		if (!ctl->settings.brick)
			return ctl_no_memory(ctl);
	}
	status = ctl_settings_complete(ctl);
	if (status)
		return status;
	if (kfbl_url_parse(ctl->settings.brick, &url, why, sizeof(why)))
		return ctl_usage(ctl, "%s", why);
	order = open_memstream(&text, &len);
	if (!order)
		return ctl_no_memory(ctl);
	status = make_order(ctl, order, args, &url);
	if (fclose(order) && !status)
		status = ctl_no_memory(ctl);
	if (!status && len >= ORDER_BYTES)
		status = ctl_usage(ctl, "that is too long for one order");
	if (!status)
		status = give_order(ctl, args, url.text, text);
	free(text);
	return status;
}

const struct ctl_command ctl_cmd_attach = {
	.name = "attach",
	.synopsis = "[URL]",
	.summary = "Makes a range of a brick a disk of this machine",
	.details =
		"The kernel driver kfbrick, which is loaded if it is not there, connects,\n"
		"allocates the blocks that are missing (with --thin only those that are written),\n"
		"maps them for itself alone and makes a disk, whose path is printed. The disk\n"
		"outlives this command; brickctl detach takes it away. When the brick is lost,\n"
		"requests wait for --reconnect-s (60) seconds, or with --fail never as long as it\n"
		"takes. With --shared other hosts may attach the same blocks, as clients of the\n"
		"same group, and nothing is allocated: the command alloc does that once, for all\n"
		"of them. With --address the brick is looked for on another network, too, when\n"
		"the disk's connections are lost. Blocks that somebody else has mapped are waited\n"
		"for with --wait-s: a host that has gone without a word has them until the brick's\n"
		"lease is over.\n"
		"\n"
		"Example: brickctl attach verbs://10.0.0.1 --base 0x0 --size 10G",
	.options = options,
	.repeatable = "address",
	.words_more = 1,
	.changes = true,
	.run = run_attach,
};
