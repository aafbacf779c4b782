// SPDX-License-Identifier: BSD-2-Clause
/* Counts of the disk's moves, and of its blocks': see coverage.h. */
#include <stdio.h>

#include "coverage.h"
#include "initiator/core/blocks/kfb_block.h"
#include "initiator/core/blocks/kfb_disk.h"

static uint64_t blocks[KFB_BLOCK_STATES][KFB_BLOCK_EVENTS];
static uint64_t disks[KFB_DISK_STATES][KFB_DISK_EVENTS];

int __real_kfb_block_move(enum kfb_block_state *state,
			  enum kfb_block_event event);
int __wrap_kfb_block_move(enum kfb_block_state *state,
			  enum kfb_block_event event);
int __real_kfb_disk_move(enum kfb_disk_state *state, enum kfb_disk_event event);
int __wrap_kfb_disk_move(enum kfb_disk_state *state, enum kfb_disk_event event);

int __wrap_kfb_block_move(enum kfb_block_state *state,
			  enum kfb_block_event event)
{
	blocks[*state][event]++;
	return __real_kfb_block_move(state, event);
}

int __wrap_kfb_disk_move(enum kfb_disk_state *state, enum kfb_disk_event event)
{
	disks[*state][event]++;
	return __real_kfb_disk_move(state, event);
}

static void print_blocks(void)
{
	unsigned int legal = 0, made = 0;

	printf("# a block of the disk:\n");
	for (uint32_t from = 0; from < KFB_BLOCK_STATES; from++)
		for (uint32_t event = 0; event < KFB_BLOCK_EVENTS; event++) {
			enum kfb_block_state state = from;

			if (__real_kfb_block_move(&state, event) < 0)
				continue;
			legal++;
			made += blocks[from][event] > 0;
			printf("#   %10llu %s: %s\n",
			       (unsigned long long)blocks[from][event],
			       kfb_block_state_name(from),
			       kfb_block_event_name(event));
		}
	printf("#   %u of %u moves made\n", made, legal);
}

static void print_disks(void)
{
	unsigned int legal = 0, made = 0;

	printf("# the disk:\n");
	for (uint32_t from = 0; from < KFB_DISK_STATES; from++)
		for (uint32_t event = 0; event < KFB_DISK_EVENTS; event++) {
			enum kfb_disk_state state = from;

			if (__real_kfb_disk_move(&state, event) < 0)
				continue;
			legal++;
			made += disks[from][event] > 0;
			printf("#   %10llu %s: %s\n",
			       (unsigned long long)disks[from][event],
			       kfb_disk_state_name(from),
			       kfb_disk_event_name(event));
		}
	printf("#   %u of %u moves made\n", made, legal);
}

void sim_coverage_print_disk(void)
{
	print_blocks();
	print_disks();
}
