// SPDX-License-Identifier: BSD-2-Clause
/* Counts of the disk's moves, and of its blocks': see coverage.h. */
#include <stdio.h>
#include <string.h>

#include "../coverage.h"
#include "initiator/core/blocks/kfb_block.h"
#include "initiator/core/blocks/kfb_disk.h"
#include "../machine/memory.h"
#include "../machine/process.h"

static uint64_t blocks[KFB_BLOCK_STATES][KFB_BLOCK_EVENTS];
static uint64_t disks[KFB_DISK_STATES][KFB_DISK_EVENTS];
static uint64_t faults[SIM_FAULT_KINDS_MAX][KFB_DISK_STATES];
static uint32_t newest[SIM_PROCESSES_MAX];

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
	int does;

	disks[*state][event]++;
	does = __real_kfb_disk_move(state, event);
	sim_disk_is_in(sim_current->process->number, *state);
	return does;
}

void sim_disks_are_nowhere(void)
{
	memset(newest, 0xff, sizeof(newest));
}

void sim_disk_is_in(uint32_t process, uint32_t state)
{
	newest[process] = state;
}

bool sim_is_disk_in(uint32_t state)
{
	for (uint32_t i = 0; i < SIM_PROCESSES_MAX; i++)
		if (newest[i] == state)
			return true;
	return false;
}

void sim_cover_disk_fault(uint32_t kind)
{
	for (uint32_t i = 0; i < SIM_PROCESSES_MAX; i++)
		if (kind < SIM_FAULT_KINDS_MAX && newest[i] < KFB_DISK_STATES)
			faults[kind][newest[i]]++;
}

void sim_coverage_print_disk_faults(const char *const *names, uint32_t n)
{
	unsigned int met = 0;

	printf("# faults, by the state of the disk:\n");
	for (uint32_t kind = 0; kind < n; kind++)
		for (uint32_t state = 0; state < KFB_DISK_STATES; state++) {
			met += faults[kind][state] > 0;
			printf("#   %10llu %s: %s\n",
			       (unsigned long long)faults[kind][state],
			       names[kind], kfb_disk_state_name(state));
		}
	printf("#   %u of %u met\n", met, n * KFB_DISK_STATES);
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
