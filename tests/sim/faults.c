// SPDX-License-Identifier: BSD-2-Clause
/* What befalls, and when: see faults.h. */
#include "faults.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "coverage.h"
#include "fabric.h"
#include "initiator/core/blocks/kfb_disk.h"
#include "initiator/core/session/kfb_client.h"
#include "memory.h"
#include "scene.h"

/* Operations of brickd's on its medium. */
#define SOON_MAX 40
/* Allocations of brickd's. */
#define ALLOCATIONS_MAX 60
/* How many of them fail, one after the other. */
#define RUN_BIT	       14
#define RUN_MAX	       8
#define CALLS_MAX      4
#define BOUND_PERMILLE 300
/* Which of the bricks a fault concerns. */
#define BRICK_BIT     13
#define RARE_PERMILLE 350
/* Behind the states of clients and disks: a disk undoes a mapping. */
#define UNDOING (KFB_CLIENT_STATES + KFB_DISK_STATES)
#define LOSING	(UNDOING + 1) /* the same of one that is lossy */
#define LOSSY	(KFB_CLIENT_STATES + KFB_DISK_LOSSY)
#define DEAD	(KFB_CLIENT_STATES + KFB_DISK_DEAD)
/* How many times as often as others a fault waits for what is seldom. */
#define SELDOM	      3
#define AWAY_PERMILLE 300
#define EVE_PERMILLE  700
/* A disk loses twice. */
#define LOSES_PERMILLE 700
#define LOSSY_PERMILLE 600
#define TIER_PERMILLE  200
#define FIRST_NS       (500 * SIM_MS)
/* A disk asks for as long, and not longer. */
#define REFUSES_NS SIM_S

/* What comes with another fault, or in the middle of what it has brickd do. */
#define WITH_BIT  2
#define AMID_BIT  18
#define POWER_BIT 19

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

/* There is no sense in what concerns files where there are none. */
static bool has_sense_at(const struct sim_brick *brick,
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
	const struct sim_faults *faults = &brick->scene->faults;
	uint32_t at = (uint32_t)(brick - brick->scene->bricks);

	if (faults->kills[at])
		sim_brick_kill(brick, faults->down_ns[at]);
	else
		lose_power(brick, faults->down_ns[at]);
}

/* Return: after how many operations of brickd's. */
static uint32_t prepare_soon(const struct sim_fault *f, struct sim_brick *brick,
			     bool kills)
{
	struct sim_scene *s = f->scene;

	s->faults.kills[brick - s->bricks] = kills;
	s->faults.down_ns[brick - s->bricks] = f->ns;
	brick->medium.cut.fire = comes_soon;
	return 1 + (uint32_t)(f->which % SOON_MAX);
}

static void come_soon(const struct sim_fault *f, struct sim_brick *brick,
		      bool kills)
{
	uint32_t operations = prepare_soon(f, brick, kills);

	sim_medium_cut_after(&brick->medium, operations);
}

/* Half of what an administrator orders ends in the middle. */
static bool is_amid(const struct sim_fault *f, bool *kills)
{
	*kills = !(f->which >> POWER_BIT & 1);
	return f->which >> AMID_BIT & 1;
}

static void grow(const struct sim_fault *f, struct sim_brick *brick)
{
	bool kills;

	if (is_amid(f, &kills))
		brick->cuts_growth_after = prepare_soon(f, brick, kills);
	sim_brick_grow(brick, f->which, f->ns);
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
		file->call = error;
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
	sim_trace(process->name, "%s for %llu us",
		  thread ? "stops a thread" : "is slow",
		  (unsigned long long)(f->ns / SIM_US));
	if (thread) {
		thread->until_stop =
			1 + (uint32_t)((f->which >> WHERE_BIT) % STOPS_MAX);
		thread->stop_ns = f->ns;
		return;
	}
	process->slow_until_ns = sim.now_ns + f->ns;
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
		if (has_sense_at(brick, f->kind))
			befall_disk(f);
		break;
	case SIM_BAD_BLOCK:
		if (has_sense_at(brick, f->kind))
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

static bool is_in_state(const struct sim_scene *s, uint32_t state)
{
	if (state == UNDOING)
		return s->faults.is_undoing;
	if (state == LOSING)
		return s->faults.is_undoing && s->faults.has_lost;
	if (state >= KFB_CLIENT_STATES)
		return sim_is_disk_in(state - KFB_CLIENT_STATES);
	for (uint32_t i = 0; i < s->n_clients; i++)
		if (sim_client_state(&s->clients[i]) == state)
			return true;
	return false;
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
		if (!is_in_state(s, f->state))
			continue;
		s->faults.waiting &= ~(UINT64_C(1) << i);
		sim_watch(s->faults.waiting ? watch : NULL, s);
		strike(f);
	}
	s->faults.is_undoing = false;
}

static void due(struct sim_event *event)
{
	struct sim_fault *f = sim_container_of(event, struct sim_fault, due);
	struct sim_faults *all = &f->scene->faults;

	if (f->state == SIM_ANY_STATE || is_in_state(f->scene, f->state)) {
		strike(f);
		return;
	}
	all->waiting |= UINT64_C(1) << (f - all->list);
	sim_watch(watch, f->scene);
}

/* Mostly it is over before anybody has thought of it, now and then not for long. */
static uint64_t choose_ns(uint64_t *dice)
{
	uint64_t pick = sim_below_of(dice, 10);

	return sim_below_of(dice, pick < 4   ? 300 * SIM_US
				  : pick < 8 ? 20 * SIM_MS
					     : 2 * SIM_S);
}

/* What takes more than one thing to be in, or does not last. */
static const uint32_t seldom[] = { KFB_CLIENT_FAILED,
				   KFB_CLIENT_STATES + KFB_DISK_REPLAYING,
				   LOSSY,
				   DEAD,
				   DEAD,
				   UNDOING };
#define N_SELDOM (sizeof(seldom) / sizeof(seldom[0]))

static bool is_seldom(uint32_t state)
{
	for (uint32_t i = 0; i < N_SELDOM; i++)
		if (seldom[i] == state)
			return true;
	return false;
}

/* What an end of the session that is for good makes a disk dead in, or may. */
static bool is_eve(uint32_t state)
{
	return state == LOSSY || state == UNDOING;
}

/* A client's, or, where there is one, the disk's. */
static uint32_t choose_state(const struct sim_scene *s, uint64_t *dice)
{
	uint32_t n = KFB_CLIENT_STATES + (s->n_disks ? KFB_DISK_STATES : 0);
	uint32_t n_seldom = s->n_disks ? N_SELDOM : 1;
	uint32_t pick = (uint32_t)sim_below_of(dice, n + SELDOM * n_seldom);

	return pick < n ? pick : seldom[(pick - n) / SELDOM];
}

/* Somewhere. */
static bool has_sense(const struct sim_scene *s, enum sim_fault_kind kind)
{
	for (uint32_t i = 0; i < s->n_bricks; i++)
		if (has_sense_at(&s->bricks[i], kind))
			return true;
	return false;
}

/* Some bricks are away for longer than a disk waits for them. */
static bool is_too_long(const struct sim_fault *f, uint64_t *dice)
{
	bool ends_life = f->kind == SIM_KILL_BRICK ||
			 f->kind == SIM_STOP_BRICK || f->kind == SIM_POWER ||
			 f->kind == SIM_POWER_SOON;

	for (uint32_t i = 0; ends_life && i < f->scene->n_disks; i++)
		if (f->scene->disks[i].settings.reconnect_s == 1)
			return is_eve(f->state) ||
			       sim_chance_of(dice, AWAY_PERMILLE);
	return false;
}

/* One of them by their weights; in a state that is seldom of any kind that has sense. */
static void choose_kind(struct sim_fault *f, const uint32_t *weights,
			uint32_t sum, uint64_t *dice)
{
	uint64_t pick = sim_below_of(dice, sum);

	/* That leads from there to what is more seldom. */
	if (is_eve(f->state) && sim_chance_of(dice, EVE_PERMILLE)) {
		f->kind = SIM_KILL_BRICK;
		return;
	}
	while (is_seldom(f->state)) {
		f->kind = (enum sim_fault_kind)sim_below_of(dice,
							    SIM_FAULT_KINDS);
		if (has_sense(f->scene, f->kind))
			return;
	}
	while (pick >= weights[f->kind])
		pick -= weights[f->kind++];
}

static void choose_fault(struct sim_fault *f, const uint32_t *weights,
			 uint32_t sum, uint64_t *dice)
{
	f->state = SIM_ANY_STATE;
	if (sim_chance_of(dice, BOUND_PERMILLE))
		f->state = choose_state(f->scene, dice);
	choose_kind(f, weights, sum, dice);
	f->which = sim_below_of(dice, 1 << 20);
	f->ns = choose_ns(dice);
	/* Some links are silent for longer than anybody is patient. */
	if (f->kind == SIM_HOLD && sim_chance_of(dice, 100))
		f->ns *= 30;
	/* What is refused for a moment is asked for again. */
	if ((f->kind == SIM_REFUSE || f->kind == SIM_CARD ||
	     f->kind == SIM_SLOW) &&
	    sim_chance_of(dice, 500))
		f->ns += REFUSES_NS;
	if (is_too_long(f, dice))
		f->ns += SIM_S;
}

/* There is a disk that may lose what it has written, and then its blocks. */
static bool has_loser(const struct sim_scene *s)
{
	for (uint32_t i = 0; i < s->n_disks; i++)
		if (s->disks[i].settings.is_visited_when_away)
			return true;
	return false;
}

/* Its session ends for good as it finds that its blocks are another's. */
static void come_second(struct sim_fault *f, bool is_lossy)
{
	f->kind = SIM_KILL_BRICK;
	f->state = is_lossy ? LOSING : UNDOING;
	f->ns = 2 * SIM_S;
}

/* The brick is away, and forgets who had the blocks; perhaps its memory goes, too. */
static void come_first(struct sim_fault *f, const struct sim_fault *second,
		       uint64_t *dice)
{
	f->kind = second->state == LOSING ? SIM_POWER : SIM_KILL_BRICK;
	f->state = SIM_ANY_STATE;
	f->which = second->which;
	/* So long that whoever comes next finds that its lease is over. */
	f->ns = FIRST_NS / 5 + sim_below_of(dice, FIRST_NS);
	f->at_ns = second->at_ns;
}

/* Of a disk that is dead then; an administrator does not know that it is. */
static void come_third(struct sim_fault *f, const uint32_t *weights,
		       uint32_t sum, uint64_t *dice)
{
	f->state = DEAD;
	choose_kind(f, weights, sum, dice);
	if (has_sense(f->scene, SIM_TIER) && sim_chance_of(dice, TIER_PERMILLE))
		f->kind = SIM_TIER;
}

void sim_faults_make(struct sim_scene *s, uint64_t *dice, uint64_t span_ns,
		     uint64_t mask)
{
	uint32_t weights[SIM_FAULT_KINDS], sum = 0;
	struct sim_faults *all = &s->faults;
	bool loses = has_loser(s) && sim_chance_of(dice, LOSES_PERMILLE);

	memset(all, 0, sizeof(*all));
	sim_watch(NULL, NULL);
	for (uint32_t i = 0; i < SIM_FAULT_KINDS; i++) {
		weights[i] = (uint32_t)sim_below_of(dice, 4) *
			     (uint32_t)sim_below_of(dice, 8);
		/* A world of all kinds has few of each. */
		weights[i] *=
			has_sense(s, i) && (i <= SIM_KILL_CLIENT ||
					    sim_chance_of(dice, RARE_PERMILLE));
		sum += weights[i];
	}
	all->n = (uint32_t)sim_below_of(dice, SIM_FAULTS_MAX);
	/* Others would mostly come between the two; one waits for what they make. */
	if (loses)
		all->n = 3;
	for (uint32_t i = 0; sum && i < all->n; i++) {
		struct sim_fault *f = &all->list[i];

		f->scene = s;
		choose_fault(f, weights, sum, dice);
		f->due.fire = due;
		f->at_ns = sim.now_ns + sim_below_of(dice, span_ns) /
						(is_seldom(f->state) ? 4 : 1);
		if (!i && loses)
			come_second(f, sim_chance_of(dice, LOSSY_PERMILLE));
		if (i == 1 && loses)
			come_first(f, f - 1, dice);
		if (i == 2 && loses)
			come_third(f, weights, sum, dice);
		if (mask >> i & 1)
			sim_schedule(&f->due, f->at_ns);
	}
}

void sim_faults_end(struct sim_scene *s)
{
	s->faults.waiting = 0;
	sim_watch(NULL, NULL);
	for (uint32_t i = 0; i < s->n_bricks; i++) {
		struct sim_files *files = &s->bricks[i].files;

		files->ends = NULL;
		sim_memory_fail_after(s->bricks[i].host.process.number, 0, 0);
		files->store.write_back.error = 0;
		files->slow.write_back.error = 0;
		files->store.flush.error = files->slow.flush.error = 0;
		files->store.call.error = files->slow.call.error = 0;
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
	if (state == SIM_ANY_STATE)
		return;
	if (state == UNDOING)
		printf(", when a disk undoes a mapping");
	else if (state == LOSING)
		printf(", when a lossy disk undoes a mapping");
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
