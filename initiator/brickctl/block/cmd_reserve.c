// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl reserve: persistent reservations of a range.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "initiator/brickctl/base/brickctl.h"

enum {
	OPT_KEY,
	OPT_NEW_KEY,
	OPT_VICTIM,
	OPT_TYPE,
	OPT_IGNORE_KEY,
	OPT_ABORT,
	OPTIONS,
};

static const struct ctl_option options[] = {
	[OPT_KEY] = { "key", 'k', "KEY", "the key that this client has" },
	[OPT_NEW_KEY] = { "new-key", 'n', "KEY",
			  "register: the key to have; 0: none" },
	[OPT_VICTIM] = { "victim", 'v', "KEY",
			 "preempt: whoever has this key loses it; 0: all others" },
	[OPT_TYPE] = { "type", 't', "TYPE", "of the reservation" },
	[OPT_IGNORE_KEY] = { "ignore-key", 'i', NULL,
			     "register: whatever key this client has" },
	[OPT_ABORT] = { "abort", 'a', NULL,
			"preempt: end what the victims have mapped there, too" },
	{ NULL },
};

#define BIT(option) (1U << (option))

/*
 * struct action - a word of the command
 * @takes: which options, as bits
 * @needs: of these, which
 * @done: what is said when it is
 */
static const struct action {
	const char *name;
	uint32_t action;
	unsigned int takes;
	unsigned int needs;
	const char *done;
} actions[] = {
	{ "register", KFBRICK_RESERVE_REGISTER,
	  BIT(OPT_KEY) | BIT(OPT_NEW_KEY) | BIT(OPT_IGNORE_KEY),
	  BIT(OPT_NEW_KEY), "registered" },
	{ "reserve", KFBRICK_RESERVE_RESERVE, BIT(OPT_KEY) | BIT(OPT_TYPE),
	  BIT(OPT_KEY) | BIT(OPT_TYPE), "reserved" },
	{ "release", KFBRICK_RESERVE_RELEASE, BIT(OPT_KEY) | BIT(OPT_TYPE),
	  BIT(OPT_KEY) | BIT(OPT_TYPE), "released" },
	{ "preempt", KFBRICK_RESERVE_PREEMPT,
	  BIT(OPT_KEY) | BIT(OPT_VICTIM) | BIT(OPT_TYPE) | BIT(OPT_ABORT),
	  BIT(OPT_KEY) | BIT(OPT_VICTIM) | BIT(OPT_TYPE), "preempted" },
	{ "clear", KFBRICK_RESERVE_CLEAR, BIT(OPT_KEY), BIT(OPT_KEY),
	  "cleared" },
	{ "show", 0, 0, 0, NULL },
};

#define N_ACTIONS (sizeof(actions) / sizeof(actions[0]))

/* As the tool blkpr of util-linux calls them. */
static const char *const type_names[] = {
	[KFBRICK_RESERVED_NONE] = "none",
	[KFBRICK_RESERVED_WRITE_EXCLUSIVE] = "write-exclusive",
	[KFBRICK_RESERVED_EXCLUSIVE_ACCESS] = "exclusive-access",
	[KFBRICK_RESERVED_WRITE_EXCLUSIVE_REG_ONLY] =
		"write-exclusive-reg-only",
	[KFBRICK_RESERVED_EXCLUSIVE_ACCESS_REG_ONLY] =
		"exclusive-access-reg-only",
	[KFBRICK_RESERVED_WRITE_EXCLUSIVE_ALL_REGS] =
		"write-exclusive-all-regs",
	[KFBRICK_RESERVED_EXCLUSIVE_ACCESS_ALL_REGS] =
		"exclusive-access-all-regs",
};

#define N_TYPES (sizeof(type_names) / sizeof(type_names[0]))

/* One that a later brick may have. */
static const char *type_name(uint32_t type)
{
	return type < N_TYPES ? type_names[type] : "unknown";
}

static int check_options(struct ctl *ctl, const struct ctl_args *args,
			 const struct action *action)
{
	unsigned int i;

	for (i = 0; i < OPTIONS; i++) {
		if (args->options[i] && !(action->takes & BIT(i)))
			return ctl_usage(ctl, "--%s is not for %s",
					 options[i].name, action->name);
		if (!args->options[i] && action->needs & BIT(i))
			return ctl_usage(ctl, "%s needs --%s", action->name,
					 options[i].name);
	}
	if (args->options[OPT_KEY] && args->options[OPT_IGNORE_KEY])
		return ctl_usage(ctl, "--key and --ignore-key exclude each "
				      "other");
	return 0;
}

static int read_options(struct ctl *ctl, const struct ctl_args *args,
			struct kfbrick_reserve *want)
{
	const char *type = args->options[OPT_TYPE];
	uint32_t i = KFBRICK_RESERVED_WRITE_EXCLUSIVE;
	int status;

	while (type && i < N_TYPES && strcmp(type, type_names[i]) != 0)
		i++;
	if (i == N_TYPES)
		return ctl_usage(ctl, "\"%s\" is no type of a reservation",
				 type);
	if (type)
		want->type = i;
	status = ctl_read_option(ctl, args, OPT_KEY, 0, UINT64_MAX, &want->key);
	if (!status)
		status = ctl_read_option(ctl, args, OPT_NEW_KEY, 0, UINT64_MAX,
					 &want->new_key);
	if (!status)
		status = ctl_read_option(ctl, args, OPT_VICTIM, 0, UINT64_MAX,
					 &want->new_key);
	if (args->options[OPT_IGNORE_KEY])
		want->flags = KFBRICK_RESERVE_IGNORE_KEY;
	if (args->options[OPT_ABORT])
		want->action = KFBRICK_RESERVE_PREEMPT_ABORT;
	return status;
}

static void print_reservation_json(uint64_t va,
				   const struct kfbrick_reservation *r)
{
	struct json_object *object = json_object_new_object();
	struct json_object *list = json_object_new_array();
	uint32_t i;

	ctl_json_hex(object, "va", va);
	ctl_json_count(object, "n_blocks", r->n_blocks);
	ctl_json_text(object, "type", type_name(r->type));
	ctl_json_count(object, "generation", r->generation);
	for (i = 0; i < r->n_registrants; i++) {
		struct json_object *one = json_object_new_object();

		ctl_json_text(one, "client", r->registrants[i].name);
		ctl_json_hex(one, "key", r->registrants[i].key);
		ctl_json_bool(one, "holder", r->registrants[i].is_holder);
		json_object_array_add(list, one);
	}
	json_object_object_add(object, "registrants", list);
	ctl_json_print(object);
}

static int show_reservation(struct ctl *ctl, const char *range, uint64_t va,
			    uint64_t n_blocks)
{
	struct kfbrick_reservation r = { .size = sizeof(r) };
	int err = kfbrick_get_reservation(ctl->k, va, n_blocks, &r);
	uint32_t i;

	if (ctl_is_unanswered(err))
		return ctl_fail_as(ctl, CTL_UNREACHED, err, "ask again", range);
	if (err)
		return ctl_fail_call(ctl, err, "%s", range);
	if (ctl->json) {
		print_reservation_json(va, &r);
		return CTL_DONE;
	}
	printf("type %s\nblocks %" PRIu64 "\ngeneration %" PRIu32 "\n",
	       type_name(r.type), r.n_blocks, r.generation);
	for (i = 0; i < r.n_registrants; i++)
		printf("key 0x%" PRIx64 " %s%s\n", r.registrants[i].key,
		       r.registrants[i].name,
		       r.registrants[i].is_holder ? " holder" : "");
	return CTL_DONE;
}

static int change_reservation(struct ctl *ctl, const char *range,
			      const struct action *action,
			      const struct kfbrick_reserve *want)
{
	struct json_object *object;
	int err = kfbrick_reserve(ctl->k, want);

	if (ctl_is_unanswered(err))
		return ctl_fail_as(ctl, CTL_UNKNOWN, err,
				   "it may have happened or not: brickctl "
				   "reserve show VA+N says",
				   range);
	if (err)
		return ctl_fail_call(ctl, err, "%s", range);
	object = json_object_new_object();
	ctl_json_text(object, "done", action->done);
	ctl_json_hex(object, "va", want->va);
	ctl_json_count(object, "n_blocks", want->n_blocks);
	return ctl_done(ctl, object, "%s %s\n", range, action->done);
}

static int run_reserve(struct ctl *ctl, const struct ctl_args *args)
{
	struct kfbrick_reserve want = { .size = sizeof(want) };
	const struct action *action = actions;
	int status;

	while (action < actions + N_ACTIONS &&
	       strcmp(args->words[0], action->name) != 0)
		action++;
	if (action == actions + N_ACTIONS)
		return ctl_usage(
			ctl,
			"\"%s\" is none of register, reserve, release, "
			"preempt, clear and show",
			args->words[0]);
	want.action = action->action;
	status = ctl_read_range(ctl, args->words[1], &want.va, &want.n_blocks);
	if (!status)
		status = check_options(ctl, args, action);
	if (!status)
		status = read_options(ctl, args, &want);
	if (!status)
		status = ctl_connect(ctl);
	if (status)
		return status;
	if (!want.action)
		return show_reservation(ctl, args->words[1], want.va,
					want.n_blocks);
	return change_reservation(ctl, args->words[1], action, &want);
}

const struct ctl_command ctl_cmd_reserve = {
	.name = "reserve",
	.synopsis = "register|reserve|release|preempt|clear|show VA+N",
	.summary =
		"Keeps other clients off a range, as persistent reservations do",
	.details =
		"register gives this client a key, 0 takes it away; reserve, release, preempt and\n"
		"clear are for who has one. show tells who has which key, and what is reserved. All\n"
		"clients of a disk name it by the same first block. Keys and reservation outlive\n"
		"connections and restarts of the brick.\n"
		"\n"
		"TYPE is write-exclusive or exclusive-access: for the holder alone; or one of these\n"
		"with -reg-only behind it: for all that have registered; or with -all-regs: all\n"
		"that have registered hold it.\n"
		"\n"
		"Example: brickctl reserve register 0x0+100G --new-key 0x2a\n"
		"         brickctl reserve reserve 0x0+100G --key 0x2a --type write-exclusive",
	.options = options,
	.words = 2,
	.changes = true,
	.run = run_reserve,
};
