// SPDX-License-Identifier: BSD-2-Clause
/* What befalls, and when: see faults.h. */
#include "faults.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "coverage.h"
#include "machine/fabric.h"
#include "faults_priv.h"
#include "machine/memory.h"
#include "scene.h"

struct kfb_initiator;
void __real_kfb_initiator_unmap_late(struct kfb_initiator *i, __u64 mapping_id);
void __wrap_kfb_initiator_unmap_late(struct kfb_initiator *i, __u64 mapping_id);
int __real_kfb_client_mapped(struct kfb_client *c);
int __wrap_kfb_client_mapped(struct kfb_client *c);

/* Operations of brickd's on its medium. */
#define SOON_MAX 40
/* Allocations of brickd's. */
#define ALLOCATIONS_MAX 60
/* How many of them fail, one after the other. */
#define RUN_BIT	  14
#define RUN_MAX	  8
#define CALLS_MAX 4
/* Which of the bricks a fault concerns. */
#define BRICK_BIT 13
/* What fails is the next range that is made zero. */
#define ZERO_BIT 12
/* What comes with another fault. */
#define WITH_BIT 2
/* Where the second one of two comes in the middle; one of four kills brickd alone. */
#define PLACE_BIT  5
#define AGAIN_MAX  16
#define DEATH_MASK 3
/* Within that time somebody is told that something is durable. */
#define COUNTED_ON_NS SIM_MS
#define HEAD_MAX      4
/* A growth that was cut short is not tried again. */
#define GIVES_UP_BIT 8

/* How slow a machine is that is slow, wherever a thread may be held up. */
#define SLOW_BIT 16
/* Or one of its threads is stopped, once: that it is so, which, and where. */
#define STOP_BIT   14
#define THREAD_BIT 4
#define WHERE_BIT  6
#define STOPS_MAX  64
static const uint64_t slow_ns[] = { 20 * SIM_US, SIM_MS, 5 * SIM_MS };

/* What befalls, in words. */
static const char *const names[SIM_FAULT_KINDS] = {
	[SIM_CUT] = "a link is cut",
	[SIM_HOLD] = "a link is held",
	[SIM_KILL_BRICK] = "the daemon is killed",
	[SIM_KILL_SOON] = "the daemon is killed during a store",
	[SIM_STOP_BRICK] = "the daemon is stopped",
	[SIM_POWER] = "the power fails",
	[SIM_POWER_SOON] = "the power fails during a store",
	[SIM_KILL_CLIENT] = "a client is killed",
	[SIM_DISK_WRITE_BACK] = "the disk does not take the next pages",
	[SIM_DISK_UNASKED] = "pages are written back unasked, in vain",
	[SIM_DISK_FLUSH] = "the disk does not empty its cache",
	[SIM_DISK_CALL] = "an access to a file fails",
	[SIM_DISK_MOUNT] = "the disk is unmounted and mounted",
	[SIM_DISK_NEIGHBOUR] = "a neighbour asks for lost writes",
	[SIM_BAD_BLOCK] = "a line of the medium goes bad",
	[SIM_EVICT] = "a client is evicted",
	[SIM_TIER] = "blocks are ordered to a tier",
	[SIM_RELOAD] = "grants are taken and given",
	[SIM_SQUATTER] = "somebody else answers at the port",
	[SIM_MEMORY] = "memory of the daemon's is short",
	[SIM_CLOCK] = "the wall clock jumps",
	[SIM_REFUSE] = "the brick unmaps nothing for a while",
	[SIM_CARD] = "the brick's card refuses writes for a while",
	[SIM_GROW] = "the store is made larger",
	[SIM_SLOW] =
		"a machine is slow, or a thread of it stopped, for a while",
	[SIM_NETWORK_LOSS] = "a network is away for a while",
};

bool sim_fault_has_sense(const struct sim_brick *brick,
			 enum sim_fault_kind kind)
{
	bool has_slow = brick->files.slow.bytes;

	switch (kind) {
	case SIM_DISK_WRITE_BACK:
	case SIM_DISK_UNASKED:
	case SIM_DISK_FLUSH:
	case SIM_DISK_CALL:
	case SIM_DISK_MOUNT:
		return brick->medium.files || has_slow;
	case SIM_DISK_NEIGHBOUR:
		return brick->medium.files;
	case SIM_BAD_BLOCK:
		/* There is little room in memory beside a slow tier. */
		return !brick->medium.files && !has_slow;
	case SIM_TIER:
		return has_slow;
	case SIM_GROW:
		return brick->medium.bytes < SIM_MEDIUM_BYTES;
	default:
		return true;
	}
}

/* ---- what befalls them ------------------------------------------------------ */

static struct sim_brick *brick_of(const struct sim_fault *f)
{
	return &f->scene->bricks[(f->which >> BRICK_BIT) % f->scene->n_bricks];
}

static void lose_power(struct sim_brick *brick, uint64_t down_ns)
{
	sim_brick_lose_power(brick, down_ns);
	sim_scene_forget(brick);
}

/* In the middle of what brickd does with its medium. */
static void comes_soon(struct sim_event *event)
{
	struct sim_brick *brick =
		sim_container_of(event, struct sim_brick, medium.cut);
	struct sim_faults *faults = &brick->scene->faults;
	uint32_t at = (uint32_t)(brick - brick->scene->bricks);
	bool kills = faults->kills[at];

	brick->cuts_start = faults->again[at];
	faults->again[at].operations = 0;
	faults->kills[at] = faults->kills_again[at];
	if (kills)
		sim_brick_kill(brick, faults->down_ns[at]);
	else
		lose_power(brick, faults->down_ns[at]);
}

static struct sim_cut choose_cut(uint64_t which, bool of_head, uint32_t max)
{
	return (struct sim_cut){
		.operations =
			1 + (uint32_t)(which % (of_head ? HEAD_MAX : max)),
		.of_head = of_head,
	};
}

/* Return: where it comes. */
static struct sim_cut prepare_soon(const struct sim_fault *f,
				   struct sim_brick *brick, bool kills)
{
	struct sim_scene *s = f->scene;
	uint32_t at = (uint32_t)(brick - s->bricks);

	s->faults.kills[at] = kills;
	s->faults.down_ns[at] = f->ns;
	s->faults.again[at] =
		f->which >> SIM_AGAIN_BIT & 1
			? choose_cut(f->which >> PLACE_BIT,
				     f->which >> SIM_HEAD_AGAIN_BIT & 1,
				     AGAIN_MAX)
			: (struct sim_cut){ 0 };
	s->faults.kills_again[at] = !(f->which >> SIM_DEATH_BIT & DEATH_MASK);
	brick->medium.cut.fire = comes_soon;
	return choose_cut(f->which, f->which >> SIM_HEAD_BIT & 1, SOON_MAX);
}

static void come_soon(const struct sim_fault *f, struct sim_brick *brick,
		      bool kills)
{
	sim_medium_cut_after(&brick->medium, prepare_soon(f, brick, kills));
}

/* Half of what an administrator orders ends in the middle. */
static bool is_amid(const struct sim_fault *f, bool *kills)
{
	*kills = !(f->which >> SIM_POWER_BIT & 1);
	return f->which >> SIM_AMID_BIT & 1;
}

static void grow(const struct sim_fault *f, struct sim_brick *brick)
{
	bool kills;

	if (is_amid(f, &kills))
		brick->cuts_growth = prepare_soon(f, brick, kills);
	sim_brick_grow(brick, f->which, f->which >> GIVES_UP_BIT & 1, f->ns);
}

static void befall_link(const struct sim_fault *f)
{
	uint32_t n_links = sim_links_count();

	if (n_links && f->kind == SIM_CUT)
		sim_link_cut((uint32_t)(f->which % n_links));
	else if (n_links)
		sim_link_hold((uint32_t)(f->which % n_links),
			      sim.now_ns + f->ns);
}

static void befall_disk(const struct sim_fault *f)
{
	struct sim_brick *brick = brick_of(f);
	struct sim_files *files = &brick->files;
	struct sim_file *file = f->which & 1 && files->slow.bytes
					? &files->slow
					: &files->store;
	struct sim_disk_error error = {
		.error = f->which & 2 ? EIO : ENOSPC,
		.keep = (unsigned int)(f->which >> 3) % PC_PER_MILLE,
	};
	bool is_with = f->which >> WITH_BIT & 1;

	/* Before brickd can ask what has become of what it has written. */
	if (is_with &&
	    (f->kind == SIM_DISK_UNASKED || f->kind == SIM_DISK_NEIGHBOUR))
		sim_brick_kill(brick, f->ns);
	switch (f->kind) {
	case SIM_DISK_WRITE_BACK:
		file->write_back = error;
		/* Who is killed while it syncs takes the answer with it. */
		if (is_with) {
			(void)prepare_soon(f, brick, true);
			files->ends = &brick->medium.cut;
		}
		break;
	case SIM_DISK_UNASKED:
		file->write_back = error;
		sim_file_write_back(files, file);
		file->write_back.error = 0;
		break;
	case SIM_DISK_FLUSH:
		/* A signal may end a wait whose error is told to nobody then. */
		error.error = f->which & 2 ? EIO : EINTR;
		file->flush = error;
		break;
	case SIM_DISK_CALL:
		error.more = is_with ? (f->which >> RUN_BIT) % CALLS_MAX : 0;
		*(f->which >> ZERO_BIT & 1 ? &file->zero : &file->call) = error;
		break;
	case SIM_DISK_MOUNT:
		sim_brick_kill(brick, f->ns);
		if (is_with)
			file->write_back = error;
		sim_files_mount_again(files);
		file->write_back.error = 0;
		break;
	default:
		if (is_with)
			file->write_back = error;
		sim_brick_neighbour_asks(brick);
		break;
	}
}

/* Disks are the last of those who may be hit. */
static void kill_one(struct sim_scene *s, uint64_t which, uint64_t down_ns)
{
	which %= s->n_clients + s->n_disks;
	if (which < s->n_clients)
		sim_client_kill(&s->clients[which], down_ns);
	else
		sim_disk_kill(&s->disks[which - s->n_clients], down_ns);
}

static void befall_someone(const struct sim_fault *f)
{
	struct sim_scene *s = f->scene;
	uint32_t at = (uint32_t)(f->which % (s->n_clients + s->n_disks));
	bool is_client = at < s->n_clients;
	const struct sim_disk *d =
		is_client ? NULL : &s->disks[at - s->n_clients];
	struct sim_brick *brick = is_client ? s->clients[at].brick : d->brick;
	uint32_t number = is_client ? at : d->number;
	uint64_t va = is_client ? sim_client_va(number) : d->settings.first_va;
	bool kills;

	if (f->kind == SIM_EVICT)
		sim_brick_evict(brick, number);
	else if (f->kind == SIM_TIER) {
		sim_brick_order(brick, va, f->which);
		if (is_amid(f, &kills))
			come_soon(f, brick, kills);
	} else
		sim_brick_revoke(brick, number, f->which, f->ns);
}

/* It does nothing for long, and the others all that they may. */
static struct sim_thread *choose_thread(const struct sim_process *process,
					uint64_t which)
{
	struct sim_thread *thread, *found = NULL;
	uint64_t n = 0;

	if (!process->is_alive)
		return NULL;
	LIST_FOREACH(thread, &process->threads, link)
	n++;
	which %= n;
	LIST_FOREACH(thread, &process->threads, link)
	if (!which--)
		found = thread;
	return found;
}

/* Processors of a host may be others' for a while: packets come all the same. */
static void slow_down(const struct sim_fault *f)
{
	struct sim_scene *s = f->scene;
	uint32_t n_users = s->n_clients + s->n_disks;
	uint32_t at = (uint32_t)(f->which % (2 * n_users + s->n_bricks));
	uint64_t ns = slow_ns[(f->which >> SLOW_BIT) %
			      (sizeof(slow_ns) / sizeof(slow_ns[0]))];
	struct sim_process *process;
	struct sim_thread *thread;
	uint64_t for_ns;

	if (at >= 2 * n_users)
		process = &s->bricks[at - 2 * n_users].host.process;
	else if (at % n_users < s->n_clients)
		process = &s->clients[at % n_users].host.process;
	else
		process = &s->disks[at % n_users - s->n_clients]
				   .machine->host.process;
	thread = f->which >> STOP_BIT & 1
			 ? choose_thread(process, f->which >> THREAD_BIT)
			 : NULL;
	/* Who has not been answered waits for longer until he counts on its end. */
	for_ns = thread ? f->ns % SIM_S : f->ns;
	sim_trace(process->name, "%s for %llu us",
		  thread ? "stops a thread" : "is slow",
		  (unsigned long long)(for_ns / SIM_US));
	if (thread) {
		thread->until_stop =
			1 + (uint32_t)((f->which >> WHERE_BIT) % STOPS_MAX);
		thread->stop_ns = for_ns;
		return;
	}
	process->slow_until_ns = sim.now_ns + for_ns;
	process->slow_ns = ns;
}

static void befall(const struct sim_fault *f)
{
	struct sim_brick *brick = brick_of(f);

	switch (f->kind) {
	case SIM_CUT:
	case SIM_HOLD:
		befall_link(f);
		break;
	case SIM_KILL_BRICK:
		sim_brick_kill(brick, f->ns);
		break;
	case SIM_STOP_BRICK:
		sim_brick_stop(brick, f->ns);
		break;
	case SIM_POWER:
		lose_power(brick, f->ns);
		break;
	case SIM_KILL_SOON:
	case SIM_POWER_SOON:
		come_soon(f, brick, f->kind == SIM_KILL_SOON);
		break;
	case SIM_KILL_CLIENT:
		kill_one(f->scene, f->which, f->ns);
		break;
	case SIM_DISK_WRITE_BACK:
	case SIM_DISK_UNASKED:
	case SIM_DISK_FLUSH:
	case SIM_DISK_CALL:
	case SIM_DISK_MOUNT:
	case SIM_DISK_NEIGHBOUR:
		if (sim_fault_has_sense(brick, f->kind))
			befall_disk(f);
		break;
	case SIM_BAD_BLOCK:
		if (sim_fault_has_sense(brick, f->kind))
			sim_brick_go_bad(brick, f->which, f->ns);
		break;
	case SIM_EVICT:
	case SIM_TIER:
	case SIM_RELOAD:
		befall_someone(f);
		break;
	case SIM_SQUATTER:
		sim_squat(sim.now_ns + f->ns);
		break;
	case SIM_MEMORY:
		sim_memory_fail_after(
			brick->host.process.number,
			1 + (uint32_t)(f->which % ALLOCATIONS_MAX),
			1 + (uint32_t)((f->which >> RUN_BIT) % RUN_MAX));
		break;
	case SIM_CLOCK:
		sim.wall_ns = (f->which % 1000) * SIM_S;
		break;
	case SIM_REFUSE:
		sim_brick_refuse(brick, f->ns);
		break;
	case SIM_CARD:
		brick->host.refuses_until_ns = sim.now_ns + f->ns;
		break;
	case SIM_GROW:
		grow(f, brick);
		break;
	case SIM_SLOW:
		slow_down(f);
		break;
	case SIM_NETWORK_LOSS:
		sim_network_lose((uint32_t)(f->which % SIM_NETWORKS),
				 sim.now_ns + f->ns, f->which >> WITH_BIT & 1);
		break;
	case SIM_FAULT_KINDS:
		break;
	}
}

static void strike(const struct sim_fault *f)
{
	const struct sim_scene *s = f->scene;

	for (uint32_t i = 0; i < s->n_clients; i++)
		sim_cover_fault(f->kind, sim_client_state(&s->clients[i]));
	sim_cover_disk_fault(f->kind);
	befall(f);
}

/* ---- when ---------------------------------------------------------------------- */

/* The event in which somebody's new session had its mappings, before it is LIVE. */
static uint64_t half_made;

int __wrap_kfb_client_mapped(struct kfb_client *c)
{
	int rc = __real_kfb_client_mapped(c);

	if (!rc && c->is_replaced)
		half_made = sim.n_events;
	return rc;
}

/* And in which somebody gives back what was granted, and is of no use. */
static uint64_t given_back;

void __wrap_kfb_initiator_unmap_late(struct kfb_initiator *i, __u64 mapping_id)
{
	given_back = sim.n_events;
	__real_kfb_initiator_unmap_late(i, mapping_id);
}

static bool is_client_in(const struct sim_client *c, uint32_t state)
{
	if (state == SIM_IS_UNANSWERED)
		return c->unanswered == sim.n_events;
	return sim_client_state(c) == state;
}

static bool is_in_state(const struct sim_fault *f)
{
	const struct sim_scene *s = f->scene;
	uint32_t state = f->state;

	if (state >= SIM_IS_MOMENT)
		return brick_of(f)->moments[state - SIM_IS_MOMENT] ==
		       sim.n_events;
	if (state == SIM_IS_LEFT_BEHIND)
		return brick_of(f)->files.left_behind == sim.n_events;
	if (state == SIM_IS_ZEROED)
		return brick_of(f)->files.zeroed == sim.n_events;
	if (state == SIM_IS_UNDOING)
		return s->faults.is_undoing;
	if (state == SIM_IS_LOSING)
		return s->faults.is_undoing && s->faults.has_lost;
	if (state == SIM_IS_UNANSWERED && given_back == sim.n_events)
		return true;
	if (state == SIM_IS_HALF_MADE)
		return half_made == sim.n_events;
	if (state >= KFB_CLIENT_STATES && state < SIM_IS_UNDOING)
		return sim_is_disk_in(state - KFB_CLIENT_STATES);
	for (uint32_t i = 0; i < s->n_clients; i++)
		if (is_client_in(&s->clients[i], state))
			return true;
	return false;
}

/* What a sync has left behind, or was to cover, somebody is to count on first. */
static void strike_in_time(struct sim_fault *f)
{
	if (f->kind != SIM_POWER ||
	    (f->state != SIM_IS_LEFT_BEHIND && f->state != SIM_IS_ZEROED)) {
		strike(f);
		return;
	}
	f->state = SIM_ANY_STATE;
	sim_schedule(&f->due, sim.now_ns + f->which % COUNTED_ON_NS);
}

/* After each event, as long as something waits for a state. */
static void watch(void *arg)
{
	struct sim_scene *s = arg;
	uint64_t left = s->faults.waiting;

	while (left) {
		uint32_t i = (uint32_t)__builtin_ctzll(left);
		struct sim_fault *f = &s->faults.list[i];

		left &= left - 1;
		if (!is_in_state(f))
			continue;
		s->faults.waiting &= ~(UINT64_C(1) << i);
		sim_watch(s->faults.waiting ? watch : NULL, s);
		strike_in_time(f);
	}
	s->faults.is_undoing = false;
}

static void due(struct sim_event *event)
{
	struct sim_fault *f = sim_container_of(event, struct sim_fault, due);
	struct sim_faults *all = &f->scene->faults;

	if (f->state == SIM_ANY_STATE || is_in_state(f)) {
		strike_in_time(f);
		return;
	}
	all->waiting |= UINT64_C(1) << (f - all->list);
	sim_watch(watch, f->scene);
}

void sim_faults_forget(void)
{
	half_made = given_back = 0;
	sim_watch(NULL, NULL);
}

void sim_fault_arm(struct sim_fault *f)
{
	f->due.fire = due;
	sim_schedule(&f->due, f->at_ns);
}

void sim_faults_end(struct sim_scene *s)
{
	s->faults.waiting = 0;
	sim_watch(NULL, NULL);
	for (uint32_t i = 0; i < s->faults.n; i++)
		sim_cancel(&s->faults.list[i].due);
	for (uint32_t i = 0; i < s->n_bricks; i++) {
		struct sim_files *files = &s->bricks[i].files;

		files->ends = NULL;
		sim_memory_fail_after(s->bricks[i].host.process.number, 0, 0);
		files->store.write_back.error = 0;
		files->slow.write_back.error = 0;
		files->store.flush.error = files->slow.flush.error = 0;
		files->store.call.error = files->slow.call.error = 0;
		files->store.zero.error = files->slow.zero.error = 0;
		sim_brick_mend(&s->bricks[i]);
	}
}

/* ---- for the story ---------------------------------------------------------------- */

uint64_t sim_faults_mask(const struct sim_scene *s)
{
	return s->faults.n ? UINT64_MAX >> (64 - s->faults.n) : 0;
}

static void print_state(uint32_t state)
{
	static const char *const words[] = {
		", when a disk undoes a mapping",
		", when a lossy disk undoes a mapping",
		", when a new session has its mappings and is not live",
		", when a request was given up, or a mapping that came late is given back",
		", when a store has been formatted",
		", when brickd starts",
	};

	if (state == SIM_ANY_STATE)
		return;
	if (state >= SIM_IS_UNDOING)
		printf("%s", words[state - SIM_IS_UNDOING]);
	else if (state >= KFB_CLIENT_STATES)
		printf(", when the disk is %s",
		       kfb_disk_state_name(state - KFB_CLIENT_STATES));
	else
		printf(", when a client is %s", kfb_client_state_name(state));
}

void sim_faults_print(const struct sim_scene *s, uint64_t mask)
{
	for (uint32_t i = 0; i < s->faults.n; i++) {
		const struct sim_fault *f = &s->faults.list[i];

		if (!(mask >> i & 1))
			continue;
		printf("  %6llu.%06llu %s",
		       (unsigned long long)(f->at_ns / SIM_MS),
		       (unsigned long long)(f->at_ns % SIM_MS), names[f->kind]);
		print_state(f->state);
		printf("\n");
	}
}

void sim_faults_print_coverage(void)
{
	sim_coverage_print(names, SIM_FAULT_KINDS);
}
