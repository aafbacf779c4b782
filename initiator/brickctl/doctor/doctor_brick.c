// SPDX-License-Identifier: BSD-2-Clause
/*
 * The brick, when one is named: what it says it keeps.
 */
#include <errno.h>
#include <inttypes.h>

#include "initiator/brickctl/doctor/doctor.h"
#include "kfb_medium.h"
#include "kfb_path.h"

/* Less than one block in so many free is worth a word. */
#define NEARLY_FULL 20

static void check_durability(struct doctor *d, const struct kfbrick_info *info)
{
	const char *brick = d->ctl->settings.brick;

	if (info->flush_mode == KFBRICK_FLUSH_NONE)
		doctor_found(
			d, DOCTOR_PROBLEM,
			"put its store on devdax or a disk; brickctl doctor --store PATH on that machine says more",
			"%s is volatile: nothing there survives a loss of power",
			brick);
	else
		doctor_found(d, DOCTOR_OK, NULL, "%s on %s, flush mode %s%s%s",
			     brick, kfb_medium_name(info->medium),
			     ctl_flush_name(info->flush_mode),
			     *info->flush_why ? ": " : "", info->flush_why);
	if (info->unsafe)
		doctor_found(
			d, DOCTOR_PROBLEM,
			"take the unsafe setting out of its brickd.conf, which its log names",
			"%s promises more than its platform keeps", brick);
}

static void check_space(struct doctor *d, const struct kfbrick_info *info)
{
	const char *brick = d->ctl->settings.brick;

	if (info->slots_bad)
		doctor_found(
			d, DOCTOR_PROBLEM,
			"see the brick's log for the addresses, restore those blocks and have the module checked",
			"%s has lost %" PRIu64 " block%s to media errors",
			brick, info->slots_bad, ctl_plural(info->slots_bad));
	if (info->slots_free < info->slots_total / NEARLY_FULL)
		doctor_found(d, DOCTOR_NOTE,
			     "brickctl list, then brickctl free VA+N",
			     "%s is nearly full: %" PRIu64 " of %" PRIu64
			     " blocks are free",
			     brick, info->slots_free, info->slots_total);
}

static void ask_brick(struct doctor *d, struct ctl_caught *caught)
{
	struct kfbrick_info info;

	if (ctl_connect_info(d->ctl, &info)) {
		doctor_found(d, DOCTOR_PROBLEM, caught->next, "%s",
			     caught->message);
		return;
	}
	d->has_answered = true;
	check_durability(d, &info);
	check_space(d, &info);
}

void doctor_check_brick(struct doctor *d)
{
	struct ctl_caught caught = { 0 };

	d->ctl->catching = &caught;
	/* A broken configuration file is reported; one without a brick is not. */
	if (d->settings_error && d->settings_error != -EDESTADDRREQ)
		doctor_found(d, DOCTOR_PROBLEM, d->settings.next, "%s",
			     d->settings.message);
	else if (d->settings_error)
		doctor_found(d, DOCTOR_NOTE, "give --brick URL or set KFBRICK",
			     "no brick is named, so none was asked");
	else
		ask_brick(d, &caught);
	d->ctl->catching = NULL;
}

void doctor_check_path(struct doctor *d)
{
	const char *brick = d->ctl->settings.brick;
	char interface[KFBRICK_INTERFACE_BYTES];
	enum kfbrick_path path;

	if (!d->has_answered)
		return;
	path = kfbrick_get_path(d->ctl->k, interface);
	if (path == KFBRICK_PATH_UNTRUSTED)
		doctor_found(
			d, DOCTOR_PROBLEM,
			"reach it through a WireGuard tunnel (docs/network.md of the source), or use verbs://",
			"%s is reached by %s: whoever is on the way can read and change all data",
			brick, interface);
	else
		doctor_found(d, DOCTOR_OK, NULL, "%s is reached by %s%s%s",
			     brick, kfb_path_name(path), *interface ? " " : "",
			     interface);
}
