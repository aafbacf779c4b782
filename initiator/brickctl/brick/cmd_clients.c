// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl clients: which clients a brick has, and who of them is fenced.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "initiator/brickctl/base/brickctl.h"

static void print_client(const struct kfbrick_client *client)
{
	printf("%s %s %" PRIu32 " session%s%s\n", client->name,
	       client->is_fenced ? "fenced" : "admitted", client->n_sessions,
	       ctl_plural(client->n_sessions),
	       client->is_fencer ? " fencer" : "");
}

static struct json_object *client_json(const struct kfbrick_client *client)
{
	struct json_object *object = json_object_new_object();

	ctl_json_text(object, "client", client->name);
	ctl_json_bool(object, "fenced", client->is_fenced);
	ctl_json_bool(object, "fencer", client->is_fencer);
	ctl_json_count(object, "sessions", client->n_sessions);
	return object;
}

static int show_one(struct ctl *ctl, const char *name)
{
	struct kfbrick_client client = { .size = sizeof(client) };
	int err = kfbrick_get_client(ctl->k, name, &client);

	if (err)
		return ctl_fail_call(ctl, err, "%s", name);
	if (ctl->json)
		ctl_json_print(client_json(&client));
	else
		print_client(&client);
	return CTL_DONE;
}

static int show_all(struct ctl *ctl)
{
	struct kfbrick_client client = { .size = sizeof(client) };
	struct json_object *list = json_object_new_array();
	int err;

	/* Each name is greater than the one before: the library looks at that. */
	while (!(err = kfbrick_next_client(ctl->k, client.name, &client))) {
		if (ctl->json)
			json_object_array_add(list, client_json(&client));
		else
			print_client(&client);
	}
	if (err == -ENOENT)
		return ctl_done(ctl, ctl_json_of("clients", list), "%s", "");
	json_object_put(list);
	return ctl_fail_call(ctl, err, "%s", ctl->settings.brick);
}

static int run_clients(struct ctl *ctl, const struct ctl_args *args)
{
	int status = ctl_connect(ctl);

	if (status)
		return status;
	return args->n_words ? show_one(ctl, args->words[0]) : show_all(ctl);
}

const struct ctl_command ctl_cmd_clients = {
	.name = "clients",
	.synopsis = "[CLIENT]",
	.summary = "Shows which clients a brick has, and which are fenced",
	.details =
		"A line for each, or for one: whether it is fenced or admitted, and how many\n"
		"sessions it has. --client names a client to whom the brick's settings give the\n"
		"role fencer.\n"
		"\n"
		"Example: brickctl --client watch --key-file watch.key clients host-7",
	.words_more = 1,
	.run = run_clients,
};
