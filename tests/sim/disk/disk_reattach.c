// SPDX-License-Identifier: BSD-2-Clause
/*
 * A disk that has failed is taken up again (docs/kfbrick.md): by one who waits for
 * it, by two at once, while requests go on, and while it is detached. Whatever had
 * completed before it failed is there then, or the disk says that it is lossy; one
 * that has said so never says anything better.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../brick.h"
#include "disk.h"
#include "../scene.h"

#define ORDER_BYTES 64
/* Between two tries to take it up. */
#define AGAIN_NS (50 * SIM_MS)
/* No brick is away for so long when nothing befalls it any more. */
#define LAST_NS (100 * SIM_S)

/* In the life that it had, and which its owner has not begun to end. */
static bool is_there(const struct sim_disk *d, uint32_t epoch)
{
	return d->open && !d->is_leaving && d->epoch == epoch;
}

/* What it says of itself; "": it goes, or has gone. */
static void listen(struct sim_disk *d, uint32_t epoch, char *state)
{
	*state = '\0';
	if (is_there(d, epoch))
		km_disk_attribute(d->open, "state", state, SIM_STATE_BYTES);
	if (!is_there(d, epoch))
		*state = '\0';
	if (!strcmp(state, "lossy") || !strcmp(state, "dead"))
		d->has_lost = true;
	else if (*state && d->has_lost)
		sim_violated("%s: it has lost writes, and is %s", d->name,
			     state);
}

/* Another disk of the same client, which no birth tells from this one. */
static bool has_namesake(const struct sim_disk *d)
{
	const struct sim_squatter *q = d->machine->visitor;

	return q && q->disk == d && q->number == d->number;
}

/*
 * What the answer must be. @is_alone: nobody else has given the order meanwhile;
 * @before and @after: its state before and after the order; "": not known.
 */
static bool is_right(const struct sim_disk *d, int rc, bool is_alone,
		     const char *before, const char *after)
{
	switch (rc) {
	case 0:
		return strcmp(before, "lossy") != 0 &&
		       strcmp(before, "dead") != 0;
	case -EALREADY:
		return !*after || !is_alone || strcmp(before, "failed") != 0;
	case -EEXIST:
		return has_namesake(d);
	case -EIO:
	case -ESTALE:
		return !*after || d->has_lost;
	case -EINVAL:
		/* What it could not map again others have, or memory is short. */
		return d->settings.is_thin || d->settings.map_cache ||
		       !sim_disk_cannot_fail(d);
	case -ETIMEDOUT:
		return !*after || !is_alone || !strcmp(after, "failed") ||
		       !strcmp(after, "dead");
	case -ENODEV:
		return !*after;
	default:
		return rc == -ENOMEM;
	}
}

/* Another disk is in the way of an order, and was not of the disk that has failed. */
static void check_reason(const struct sim_disk *d, const char *answer)
{
	char why[SIM_ANSWER_BYTES];

	km_disk_attribute(d->open, "last_error", why, sizeof(why));
	if (*why && strstr(answer, why))
		sim_violated("%s: what refuses an order is its reason: %s",
			     d->name, why);
}

static int take_up(struct sim_disk *d)
{
	char text[ORDER_BYTES], answer[SIM_ANSWER_BYTES];
	char before[SIM_STATE_BYTES], after[SIM_STATE_BYTES];
	uint32_t epoch = d->epoch, n_takings = ++d->n_takings;
	bool is_alone = !d->n_takers++;
	int rc;

	listen(d, epoch, before);
	(void)snprintf(text, sizeof(text), "reattach,instance=%d", d->instance);
	rc = sim_disk_order(d, text, answer);
	listen(d, epoch, after);
	if (rc == -EEXIST && *after)
		check_reason(d, answer);
	is_alone &= d->n_takings == n_takings;
	d->n_takings++;
	d->n_takers--;
	if (!is_right(d, rc, is_alone, before, after))
		sim_violated("%s: it is %s, then %s, and %s: %d, %s", d->name,
			     before, after, text, rc, answer);
	km_wake(&d->n_takers);
	return rc;
}

static void taker(void *arg)
{
	sim_disk_stop_once(arg);
	(void)take_up(arg);
}

void sim_disk_take_up(struct sim_disk *d)
{
	uint32_t n = 1 + sim_disk_chance(d, 200);

	while (n--)
		km_start("taker", taker, d);
	/* Others ask for something meanwhile, or want it no more. */
	if (sim_disk_chance(d, 500))
		sim_disk_takers_settle(d);
}

void sim_disk_takers_settle(struct sim_disk *d)
{
	while (d->n_takers)
		km_wait(&d->n_takers);
}

bool sim_disk_take_up_at_last(struct sim_disk *d)
{
	uint64_t until_ns = sim.now_ns + LAST_NS;
	int rc = -ETIMEDOUT;

	sim_disk_takers_settle(d);
	while (sim.now_ns < until_ns && !sim.is_over) {
		rc = take_up(d);
		if (rc != -ETIMEDOUT && rc != -ENOMEM)
			return !rc;
		km_sleep_until(sim.now_ns + AGAIN_NS);
	}
	if (sim_disk_cannot_fail(d))
		sim_violated("%s: its brick is back, and it is not: %d",
			     d->name, rc);
	return false;
}
