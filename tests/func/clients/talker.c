// SPDX-License-Identifier: BSD-2-Clause
/*
 * libkfbrick, a call a line: talker BRICK CLIENT KEYFILE RECONNECT_MS QUEUES
 *
 * Reads commands from standard input and answers each with one line: the
 * call's return value, and what else there is to say.
 *
 *	map VA N	unmap VA	alloc VA N	free VA N
 *	write VA LEN BYTE		flush		info
 *	durable VA LEN BYTE: a write that needs no flush
 *	read VA		the byte there
 *	list VA		1 when the block is allocated, else 0
 *	losses		how many, then VA+LEN of each
 *	accept		the losses
 *	event		1 and its kind, address and blocks; 0 when there is none
 *	await MS	the same, when one has come, or after so long
 *	close		end the connection and the program
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "initiator/lib/kfbrick.h"
#include "key_file.h"

#define MAPPINGS_MAX 16
#define LOSSES_MAX   8
#define LIST_MAX     4
#define WRITE_MAX    (1U << 20)

struct mapped {
	uint64_t va;
	struct kfbrick_mapping *mapping;
};

static struct kfbrick *k;
static struct mapped mappings[MAPPINGS_MAX];
static uint8_t bytes[WRITE_MAX];

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static int map(uint64_t va, uint64_t n)
{
	int i = 0;

	while (i < MAPPINGS_MAX - 1 && mappings[i].mapping)
		i++;
	mappings[i].va = va;
	return kfbrick_map(k, va, n, KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
			   &mappings[i].mapping);
}

static int unmap(uint64_t va)
{
	int i;

	for (i = 0; i < MAPPINGS_MAX; i++) {
		struct kfbrick_mapping *mapping = mappings[i].mapping;

		if (!mapping || mappings[i].va != va)
			continue;
		mappings[i].mapping = NULL;
		return kfbrick_unmap(k, mapping);
	}
	return -ENOENT;
}

static int write_durably(uint64_t va, uint64_t n)
{
	struct kfbrick_completion done;
	struct kfbrick_memory *memory;
	int rc = kfbrick_memory_register(k, bytes, sizeof(bytes), &memory);

	if (rc)
		return rc;
	rc = kfbrick_post_write_durable(k, va, bytes, n, NULL);
	if (!rc)
		rc = kfbrick_poll(k, &done, 1, -1) == 1 ? done.error : -EIO;
	(void)kfbrick_memory_release(k, memory);
	return rc;
}

static void tell_losses(void)
{
	struct kfbrick_range ranges[LOSSES_MAX];
	size_t n = kfbrick_losses(k, ranges, LOSSES_MAX);
	size_t i;

	printf("%zu", n);
	for (i = 0; i < n && i < LOSSES_MAX; i++)
		printf(" 0x%" PRIx64 "+%" PRIu64, ranges[i].va, ranges[i].len);
	putchar('\n');
}

static void tell_info(void)
{
	struct kfbrick_info info = { .size = sizeof(info) };
	int rc = kfbrick_get_info(k, &info);

	printf("%d %" PRIx64 " %" PRIu64 "\n", rc, info.instance_id,
	       info.power_epoch);
}

static void tell_allocated(uint64_t va)
{
	struct kfbrick_extent extents[LIST_MAX];
	uint64_t cursor = va;
	int n = kfbrick_list(k, KFBRICK_LIST_ALLOCATED, &cursor, extents,
			     LIST_MAX, NULL);

	printf("%d %d\n", n < 0 ? n : 0, n > 0 && extents[0].va == va);
}

static void tell_event(uint64_t timeout_ms)
{
	struct pollfd p = { .fd = kfbrick_wait_fd(k), .events = POLLIN };
	uint64_t now = now_ms(), end = now + timeout_ms;
	struct kfbrick_event event = { .size = sizeof(event) };
	struct kfbrick_completion none;
	int rc = kfbrick_next_event(k, &event);

	for (; !rc && now < end; now = now_ms()) {
		(void)kfbrick_poll(k, &none, 1, 0);
		rc = kfbrick_next_event(k, &event);
		if (!rc)
			(void)poll(&p, 1, (int)(end - now));
	}
	printf("%d %" PRIu32 " 0x%" PRIx64 "+%" PRIu64 "\n", rc, event.kind,
	       event.va, event.n_blocks);
}

static void tell(int rc)
{
	printf("%d %s\n", rc, rc ? kfbrick_error(k) : "");
}

/* The line's next word; 0 if there is none. */
static uint64_t number(char **save)
{
	const char *word = strtok_r(NULL, " \n", save);

	return word ? strtoull(word, NULL, 0) : 0;
}

/* False: that was the last one. */
static int command(char *line)
{
	char *save = NULL;
	const char *name = strtok_r(line, " \n", &save);
	uint64_t va = number(&save);
	uint64_t n = number(&save);
	uint64_t byte = number(&save);

	if (!name)
		return 1;
	if (!strcmp(name, "map")) {
		tell(map(va, n));
	} else if (!strcmp(name, "unmap")) {
		tell(unmap(va));
	} else if (!strcmp(name, "alloc")) {
		tell(kfbrick_alloc(k, va, n));
	} else if (!strcmp(name, "free")) {
		tell(kfbrick_free(k, va, n));
	} else if (!strcmp(name, "write") && n <= WRITE_MAX) {
		memset(bytes, (int)byte, n);
		tell(kfbrick_write(k, va, bytes, n));
	} else if (!strcmp(name, "durable") && n <= WRITE_MAX) {
		memset(bytes, (int)byte, n);
		tell(write_durably(va, n));
	} else if (!strcmp(name, "read")) {
		int rc = kfbrick_read(k, va, bytes, 1);

		printf("%d %u\n", rc, bytes[0]);
	} else if (!strcmp(name, "flush")) {
		tell(kfbrick_flush(k));
	} else if (!strcmp(name, "info")) {
		tell_info();
	} else if (!strcmp(name, "losses")) {
		tell_losses();
	} else if (!strcmp(name, "list")) {
		tell_allocated(va);
	} else if (!strcmp(name, "event")) {
		tell_event(0);
	} else if (!strcmp(name, "await")) {
		tell_event(va);
	} else if (!strcmp(name, "accept")) {
		kfbrick_accept_losses(k);
		tell(0);
	} else {
		return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct kfbrick_config config = { .size = sizeof(config) };
	uint8_t key[KFBRICK_KEY_BYTES];
	char line[128];
	int rc;

	if (argc != 6 || key_file_read(argv[3], key)) {
		fprintf(stderr,
			"usage: %s BRICK CLIENT KEYFILE RECONNECT_MS "
			"QUEUES\n",
			argv[0]);
		return 2;
	}
	config.brick = argv[1];
	config.client = argv[2];
	config.key = key;
	config.reconnect_ms = (uint32_t)strtoul(argv[4], NULL, 10);
	config.queues = (uint32_t)strtoul(argv[5], NULL, 10);
	rc = kfbrick_connect(&config, &k);
	setlinebuf(stdout);
	tell(rc);
	while (!rc && fgets(line, sizeof(line), stdin) && command(line))
		;
	kfbrick_close(k);
	return 0;
}
