// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs that were built with another version of the header: older ones have
 * smaller structures, newer ones larger ones.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_fixture.h"

#define BEHIND(structure, member) \
	(offsetof(structure, member) + sizeof(((structure *)0)->member))

/*
 * Where everything is: programs were built with these, and what is new comes behind.
 * With pointers of eight bytes, as everywhere that there are bricks.
 */
#define AT(structure, member, offset)                                  \
	_Static_assert(offsetof(struct structure, member) == (offset), \
		       #structure "." #member " has moved")

AT(kfbrick_config, brick, 8);
AT(kfbrick_config, client, 16);
AT(kfbrick_config, key, 24);
AT(kfbrick_config, expect_uuid, 32);
AT(kfbrick_config, timeout_ms, 40);
AT(kfbrick_config, queue_depth, 44);
AT(kfbrick_config, reconnect_ms, 48);
AT(kfbrick_config, queues, 52);
AT(kfbrick_config, retain_bytes, 56);
AT(kfbrick_config, allow_untrusted_tcp, 64);

AT(kfbrick_info, uuid, 8);
AT(kfbrick_info, instance_id, 24);
AT(kfbrick_info, power_epoch, 32);
AT(kfbrick_info, slots_total, 40);
AT(kfbrick_info, slots_free, 48);
AT(kfbrick_info, slots_clean, 56);
AT(kfbrick_info, slots_bad, 64);
AT(kfbrick_info, slow_total, 72);
AT(kfbrick_info, slow_free, 80);
AT(kfbrick_info, map_extent_max_bytes, 88);
AT(kfbrick_info, alloc_max_blocks, 96);
AT(kfbrick_info, lease_ms, 104);
AT(kfbrick_info, mappings_max, 108);
AT(kfbrick_info, medium, 112);
AT(kfbrick_info, flush_modes, 116);
AT(kfbrick_info, flush_mode, 120);
AT(kfbrick_info, ack_is_placed, 124);
AT(kfbrick_info, unsafe, 125);
AT(kfbrick_info, flush_why, 126);
AT(kfbrick_info, exposed, 222);

AT(kfbrick_event, kind, 8);
AT(kfbrick_event, va, 16);
AT(kfbrick_event, n_blocks, 24);
AT(kfbrick_event, mapping_id, 32);
AT(kfbrick_event, deadline_ms, 40);

/* These have no size and stay as they are: programs have arrays of them. */
#define IS(structure, bytes)                                \
	_Static_assert(sizeof(struct structure) == (bytes), \
		       #structure " has another size")

IS(kfbrick_handle, 40);
IS(kfbrick_extent, 32);
IS(kfbrick_completion, 24);
IS(kfbrick_range, 16);
IS(kfbrick_grant, 24);
AT(kfbrick_handle, birth, 32);
AT(kfbrick_extent, mapping_id, 16);
AT(kfbrick_extent, flags, 24);
AT(kfbrick_completion, error, 8);
AT(kfbrick_completion, len, 16);
AT(kfbrick_grant, access, 16);

/* As a later version may have them. */
struct later_config {
	struct kfbrick_config known;
	uint64_t unknown;
};

struct later_info {
	struct kfbrick_info known;
	uint64_t unknown;
};

struct later_event {
	struct kfbrick_event known;
	uint64_t unknown;
};

struct later_reserve {
	struct kfbrick_reserve known;
	uint64_t unknown;
};

static void an_older_programs_configuration_is_taken(void **state)
{
	struct {
		struct kfbrick_config config;
		uint8_t not_its[64];
	} older;

	/* What stands behind is not its configuration. */
	memset(&older, 0xff, sizeof(older));
	older.config = lib_config();
	memset((char *)&older + BEHIND(struct kfbrick_config, timeout_ms), 0xff,
	       sizeof(older) - BEHIND(struct kfbrick_config, timeout_ms));
	older.config.size = BEHIND(struct kfbrick_config, timeout_ms);
	assert_int_equal(lib_connect(&older.config), 0);
}

static void a_configuration_without_a_brick_is_none(void **state)
{
	struct kfbrick_config config = lib_config();

	config.size = offsetof(struct kfbrick_config, brick);
	assert_int_equal(lib_connect(&config), -EINVAL);
	lib_says("sizeof(struct kfbrick_config)");
}

static void
a_newer_programs_configuration_is_taken_if_it_asks_for_nothing_new(void **state)
{
	struct later_config later = { .known = lib_config() };

	later.known.size = sizeof(later);
	assert_int_equal(lib_connect(&later.known), 0);
	kfbrick_close(k);
	k = NULL;
	later.unknown = 1;
	assert_int_equal(lib_connect(&later.known), -E2BIG);
	lib_says("use a newer one");
}

/* It may stand where this version has nothing yet. */
static void a_newer_programs_switch_is_refused(void **state)
{
	for (size_t i = 0; i < sizeof(lib_config().reserved); i++) {
		struct kfbrick_config config = lib_config();

		config.reserved[i] = true;
		assert_int_equal(lib_connect(&config), -E2BIG);
		assert_null(k);
		assert_non_null(strstr(kfbrick_error(NULL), "use a newer one"));
	}
}

static void
a_newer_programs_reservation_is_made_if_it_asks_for_nothing_new(void **state)
{
	struct later_reserve later = {
		.known = { .size = sizeof(later),
			   .va = FAKE_VA,
			   .n_blocks = 1,
			   .new_key = 5,
			   .action = KFBRICK_RESERVE_REGISTER },
	};

	assert_int_equal(kfbrick_reserve(k, &later.known), 0);
	later.unknown = 1;
	assert_int_equal(kfbrick_reserve(k, &later.known), -E2BIG);
	lib_says("use a newer one");
	assert_int_equal(fake_brick_seen(brick, KFB_OP_RESERVE), 1);
	later.known.size = sizeof(later.known) - 1;
	assert_int_equal(kfbrick_reserve(k, &later.known), -EINVAL);
}

static void info_fills_what_the_program_has_room_for(void **state)
{
	struct later_info later = { .unknown = 7 };
	struct kfbrick_info older;

	memset(&older, 0xff, sizeof(older));
	older.size = offsetof(struct kfbrick_info, slots_total);
	assert_int_equal(kfbrick_get_info(k, &older), 0);
	assert_int_equal(older.size,
			 offsetof(struct kfbrick_info, slots_total));
	assert_memory_equal(older.uuid, fake_brick_uuid(brick),
			    KFBRICK_UUID_BYTES);
	assert_true(older.slots_total == UINT64_MAX);

	later.known.size = sizeof(later);
	assert_int_equal(kfbrick_get_info(k, &later.known), 0);
	assert_true(later.known.slots_total);
	assert_int_equal(later.unknown, 0);

	older.size = 0;
	assert_int_equal(kfbrick_get_info(k, &older), -EINVAL);
}

static void an_event_fills_what_the_program_has_room_for(void **state)
{
	struct later_event later = { .unknown = 7 };
	struct kfbrick_event older;

	memset(&older, 0xff, sizeof(older));
	older.size = 0;
	assert_int_equal(kfbrick_next_event(k, &older), -EINVAL);
	rules->event_after_ping = KFB_EVENT_RECALL;
	older.size = offsetof(struct kfbrick_event, n_blocks);
	while (!kfbrick_next_event(k, &older))
		assert_int_equal(kfbrick_ping(k), 0);
	assert_int_equal(older.kind, KFBRICK_EVENT_RECALL);
	assert_int_equal(older.va, FAKE_VA);
	assert_true(older.n_blocks == UINT64_MAX);

	rules->event_after_ping = KFB_EVENT_RECALL;
	later.known.size = sizeof(later);
	while (!kfbrick_next_event(k, &later.known))
		assert_int_equal(kfbrick_ping(k), 0);
	assert_int_equal(later.known.va, FAKE_VA);
	assert_int_equal(later.unknown, 0);
}

static void the_library_has_the_headers_version(void **state)
{
	char text[16];

	assert_int_equal(kfbrick_version(), KFBRICK_VERSION);
	snprintf(text, sizeof(text), "%d.%d.%d", KFBRICK_VERSION_MAJOR,
		 KFBRICK_VERSION_MINOR, KFBRICK_VERSION_PATCH);
	assert_string_equal(text, PROJECT_VERSION);
}

static void grants_are_those_of_the_session(void **state)
{
	struct kfbrick_grant grants[3];

	memset(grants, 0xff, sizeof(grants));
	assert_int_equal(kfbrick_get_grants(k, NULL, 0), 2);
	assert_int_equal(kfbrick_get_grants(k, grants, 1), 2);
	assert_true(grants[1].va == UINT64_MAX);
	assert_int_equal(kfbrick_get_grants(k, grants, 3), 2);
	assert_int_equal(grants[0].va, FAKE_VA);
	assert_int_equal(grants[0].n_blocks, FAKE_BLOCKS);
	assert_int_equal(grants[0].access, KFBRICK_GRANT_RW);
	assert_int_equal(grants[1].va, 0);
	assert_int_equal(grants[1].n_blocks, 1);
	assert_int_equal(grants[1].access, KFBRICK_GRANT_RO);
	assert_true(grants[2].va == UINT64_MAX);
}

static void a_key_is_read_from_a_file_of_its_owner(void **state)
{
	static const char digits[] = "5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c"
				     "5c5c5c5c5c5c5c5c5c5c5c5c5c5c5C5c\n";
	char path[] = "/tmp/kfbrick-key-XXXXXX";
	uint8_t key[KFBRICK_KEY_BYTES] = { 0 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, digits, strlen(digits)), strlen(digits));
	assert_int_equal(kfbrick_key_read(path, key), 0);
	for (size_t i = 0; i < sizeof(key); i++)
		assert_int_equal(key[i], 0x5c);
	assert_int_equal(fchmod(fd, 0640), 0);
	assert_int_equal(kfbrick_key_read(path, key), -EPERM);
	assert_non_null(strstr(kfbrick_error(NULL), path));
	assert_non_null(strstr(kfbrick_error(NULL), "chmod 600"));
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(write(fd, "\n", 1), 1);
	assert_int_equal(kfbrick_key_read(path, key), -EINVAL);
	assert_non_null(strstr(kfbrick_error(NULL), "64 hexadecimal digits"));
	unlink(path);
	close(fd);
	assert_int_equal(kfbrick_key_read(path, key), -ENOENT);
	assert_int_equal(kfbrick_key_read("/dev/null", key), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNCONNECTED(an_older_programs_configuration_is_taken),
		UNCONNECTED(a_configuration_without_a_brick_is_none),
		UNCONNECTED(
			a_newer_programs_configuration_is_taken_if_it_asks_for_nothing_new),
		UNCONNECTED(a_newer_programs_switch_is_refused),
		CONNECTED(
			a_newer_programs_reservation_is_made_if_it_asks_for_nothing_new),
		CONNECTED(info_fills_what_the_program_has_room_for),
		CONNECTED(an_event_fills_what_the_program_has_room_for),
		UNCONNECTED(the_library_has_the_headers_version),
		CONNECTED(grants_are_those_of_the_session),
		UNCONNECTED(a_key_is_read_from_a_file_of_its_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
