// SPDX-License-Identifier: BSD-2-Clause
/*
 * old_program URL CLIENT KEY: a program that was built with the header of version
 * 0.1, whose structures had no size: it asks the library of today.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of these, what the header of 0.1 said is repeated here. */
struct kfbrick;

struct kfbrick_config {
	size_t size;
	const char *brick;
	const char *client;
	const uint8_t *key;
	const uint8_t *expect_uuid;
	uint32_t timeout_ms;
	uint32_t queue_depth;
	uint32_t reconnect_ms;
	uint32_t queues;
	uint64_t retain_bytes;
};

struct kfbrick_info {
	uint8_t uuid[16];
	uint64_t instance_id;
	uint64_t power_epoch;
	uint64_t slots_total;
	uint64_t slots[5];
	uint64_t map_extent_max_bytes;
	uint64_t alloc_max_blocks;
	uint32_t lease_ms;
	uint32_t mappings_max;
	uint32_t medium;
	uint32_t flush_modes;
	uint32_t flush_mode;
	bool ack_is_placed;
	bool unsafe;
	char flush_why[96];
	bool exposed;
};

struct kfbrick_event {
	uint32_t kind;
	uint64_t va;
	uint64_t n_blocks;
	uint64_t mapping_id;
	uint32_t deadline_ms;
};

int kfbrick_connect(const struct kfbrick_config *config, struct kfbrick **out);
const char *kfbrick_error(const struct kfbrick *k);
void kfbrick_close(struct kfbrick *k);
int old_get_info(struct kfbrick *k, struct kfbrick_info *info);
int old_next_event(struct kfbrick *k, struct kfbrick_event *event);

/* What the linker wrote into a program then. */
__asm__(".symver old_get_info, kfbrick_get_info@KFBRICK_0.1");
__asm__(".symver old_next_event, kfbrick_next_event@KFBRICK_0.1");

static void fail(const char *what, const struct kfbrick *k)
{
	fprintf(stderr, "%s: %s\n", what, kfbrick_error(k));
	exit(1);
}

static bool all_are(const uint8_t *bytes, size_t n, uint8_t value)
{
	while (n && *bytes == value) {
		bytes++;
		n--;
	}
	return !n;
}

int main(int argc, char **argv)
{
	struct kfbrick_config config = { .size = sizeof(config) };
	struct {
		struct kfbrick_info info;
		uint8_t behind[64];
	} got;
	struct kfbrick_event event;
	uint8_t key[32];
	struct kfbrick *k;

	if (argc != 4)
		return 2;
	for (size_t i = 0; i < sizeof(key); i++) {
		char digits[3] = { argv[3][2 * i], argv[3][2 * i + 1] };

		key[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	config.brick = argv[1];
	config.client = argv[2];
	config.key = key;
	if (kfbrick_connect(&config, &k))
		fail("connect", NULL);
	memset(&got, 0xee, sizeof(got));
	if (old_get_info(k, &got.info))
		fail("info", k);
	if (!all_are(got.behind, sizeof(got.behind), 0xee))
		fail("info writes behind what the program has", k);
	if (old_next_event(k, &event))
		fail("an event nobody sent", k);
	printf("%llu %s\n", (unsigned long long)got.info.slots_total,
	       got.info.flush_why);
	kfbrick_close(k);
	return 0;
}
