// SPDX-License-Identifier: BSD-2-Clause
/* Which faults a world has, and what they wait for: see faults.h. */
#include <string.h>

#include "disk/disk.h"
#include "faults_priv.h"
#include "scene.h"

#define BOUND_PERMILLE 300
#define RARE_PERMILLE  350
/* How many times as often as others a fault waits for what is seldom. */
#define SELDOM		     3
#define LONG_OUTAGE_PERMILLE 300
#define EVE_PERMILLE	     700
/* A disk loses twice. */
#define LOSES_PERMILLE 700
#define LOSSY_PERMILLE 600
#define TIER_PERMILLE  200
#define FIRST_NS       (500 * SIM_MS)
/* Some more faults, for what is not met by chance. */
#define RARE_MOMENTS_PERMILLE 250
#define MOMENTS_MAX	      3
#define GROW_PERMILLE	      500
#define TWICE_AT_HEAD                                                      \
	(UINT64_C(1) << SIM_AMID_BIT | UINT64_C(1) << SIM_AGAIN_BIT |      \
	 UINT64_C(1) << SIM_HEAD_BIT | UINT64_C(1) << SIM_HEAD_AGAIN_BIT | \
	 UINT64_C(1) << SIM_DEATH_BIT)
/* A disk asks for as long, and not longer. */
#define REFUSES_NS SIM_S

/* Mostly it is over before anybody has thought of it, now and then not for long. */
static uint64_t choose_ns(uint64_t *dice)
{
	uint64_t pick = sim_below_of(dice, 10);

	return sim_below_of(dice, pick < 4   ? 300 * SIM_US
				  : pick < 8 ? 20 * SIM_MS
					     : 2 * SIM_S);
}

/* What takes more than one thing to be in, or does not last. */
static const uint32_t seldom[] = {
	KFB_CLIENT_FAILED, KFB_CLIENT_STATES + KFB_DISK_REPLAYING,
	SIM_IS_LOSSY,	   SIM_IS_DEAD,
	SIM_IS_DEAD,	   SIM_IS_UNDOING
};
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
	return state == SIM_IS_LOSSY || state == SIM_IS_UNDOING;
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
		if (sim_fault_has_sense(&s->bricks[i], kind))
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
			       sim_chance_of(dice, LONG_OUTAGE_PERMILLE);
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
		if (s->disks[i].settings.is_visited_when_connecting)
			return true;
	return false;
}

/* Its session ends for good as it finds that its blocks are another's. */
static void come_second(struct sim_fault *f, bool is_lossy)
{
	f->kind = SIM_KILL_BRICK;
	f->state = is_lossy ? SIM_IS_LOSING : SIM_IS_UNDOING;
	f->ns = 2 * SIM_S;
}

/* The brick is away, and forgets who had the blocks; perhaps its memory goes, too. */
static void come_first(struct sim_fault *f, const struct sim_fault *second,
		       uint64_t *dice)
{
	f->kind = second->state == SIM_IS_LOSING ? SIM_POWER : SIM_KILL_BRICK;
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
	f->state = SIM_IS_DEAD;
	choose_kind(f, weights, sum, dice);
	if (has_sense(f->scene, SIM_TIER) && sim_chance_of(dice, TIER_PERMILLE))
		f->kind = SIM_TIER;
}

/*
 * Moments, and what else is not to be met by chance: what is mostly to befall there;
 * how often it is this one, of all.
 */
static const struct rare {
	uint32_t state;
	uint32_t share;
	enum sim_fault_kind kinds[3];
} rare[] = {
	{ SIM_IS_MOMENT + SIM_STARTING,
	  4,
	  { SIM_POWER_SOON, SIM_POWER_SOON, SIM_KILL_SOON } },
	{ SIM_IS_MOMENT + SIM_FORMATTED,
	  2,
	  { SIM_POWER, SIM_POWER, SIM_KILL_BRICK } },
	{ SIM_IS_HALF_MADE, 3, { SIM_NETWORK_LOSS, SIM_NETWORK_LOSS, SIM_CUT } },
	{ SIM_IS_UNANSWERED, 4, { SIM_REFUSE, SIM_REFUSE, SIM_CUT } },
	{ SIM_IS_LEFT_BEHIND, 3, { SIM_POWER, SIM_POWER, SIM_POWER_SOON } },
	{ SIM_IS_ZEROED, 4, { SIM_POWER, SIM_DISK_CALL, SIM_POWER_SOON } },
};
#define N_RARE (sizeof(rare) / sizeof(rare[0]))

static const struct rare *choose_rare(uint64_t *dice)
{
	uint64_t n = 0, pick;
	uint32_t i = 0;

	for (uint32_t k = 0; k < N_RARE; k++)
		n += rare[k].share;
	pick = sim_below_of(dice, n);
	while (pick >= rare[i].share)
		pick -= rare[i++].share;
	return &rare[i];
}

/*
 * A growth of the store ends at what says which tables count: by the end of brickd alone,
 * which leaves some of it in a cache, and, in the start behind it, by the power.
 */
static void grow_twice(struct sim_fault *f)
{
	f->kind = SIM_GROW;
	f->state = SIM_ANY_STATE;
	f->which |= TWICE_AT_HEAD;
	f->which &= ~(UINT64_C(1) << SIM_POWER_BIT);
}

/* Dice of their own leave the others as they are. */
static void add_rare(struct sim_scene *s, const uint32_t *weights, uint32_t sum,
		     uint64_t span_ns, uint64_t mask)
{
	uint64_t dice = sim.seed ^ UINT64_C(0x1f83d9abfb41bd6b);
	struct sim_faults *all = &s->faults;
	uint32_t n = sim_chance_of(&dice, RARE_MOMENTS_PERMILLE)
			     ? 1 + (uint32_t)sim_below_of(&dice, MOMENTS_MAX)
			     : 0;

	while (sum && n-- && all->n < SIM_FAULTS_MAX) {
		const struct rare *r = choose_rare(&dice);
		struct sim_fault *f = &all->list[all->n];

		f->scene = s;
		choose_fault(f, weights, sum, &dice);
		if (sim_chance_of(&dice, EVE_PERMILLE))
			f->kind = r->kinds[sim_below_of(&dice, 3)];
		f->state = r->state;
		if (has_sense(s, SIM_GROW) &&
		    sim_chance_of(&dice, GROW_PERMILLE))
			grow_twice(f);
		f->at_ns = sim.now_ns + sim_below_of(&dice, span_ns);
		/* That comes first of all. */
		if (f->state == SIM_IS_MOMENT + SIM_FORMATTED)
			f->at_ns = sim.now_ns;
		if (mask >> all->n++ & 1)
			sim_fault_arm(f);
	}
}

void sim_faults_make(struct sim_scene *s, uint64_t *dice, uint64_t span_ns,
		     uint64_t mask)
{
	uint32_t weights[SIM_FAULT_KINDS], sum = 0;
	struct sim_faults *all = &s->faults;
	bool loses = has_loser(s) && sim_chance_of(dice, LOSES_PERMILLE);

	memset(all, 0, sizeof(*all));
	sim_faults_forget();
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
		f->at_ns = sim.now_ns + sim_below_of(dice, span_ns) /
						(is_seldom(f->state) ? 4 : 1);
		if (!i && loses)
			come_second(f, sim_chance_of(dice, LOSSY_PERMILLE));
		if (i == 1 && loses)
			come_first(f, f - 1, dice);
		if (i == 2 && loses)
			come_third(f, weights, sum, dice);
		if (mask >> i & 1)
			sim_fault_arm(f);
	}
	if (!loses)
		add_rare(s, weights, sum, span_ns, mask);
}
