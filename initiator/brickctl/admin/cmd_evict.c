// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl evict: ends sessions of the brick of this machine.
 */
#include <inttypes.h>

#include "initiator/brickctl/admin/admin.h"

enum {
	OPT_ALL,
};

static const struct ctl_option options[] = {
	[OPT_ALL] = { "all", 0, "CLIENT", "every session of a client" },
	{ NULL },
};

static int run_evict(struct ctl *ctl, const struct ctl_args *args)
{
	const char *client = args->options[OPT_ALL];
	struct json_object *request;
	struct json_object *answer;
	struct ctl_admin a;
	uint64_t n;
	int status;

	if (!client == !args->n_words)
		return ctl_usage(ctl, "either a session or --all CLIENT");
	status = ctl_admin_open(ctl, &a);
	if (status)
		return status;
	request = ctl_admin_request("evict");
	if (client)
		ctl_json_text(request, "client", client);
	else
		ctl_json_text(request, "session", args->words[0]);
	status = ctl_admin_ask(ctl, &a, request, &answer);
	ctl_admin_close(&a);
	if (status)
		return status;
	n = ctl_admin_count(answer, "evicted");
	json_object_put(answer);
	return ctl_done(ctl, ctl_json_of("evicted", json_object_new_uint64(n)),
			"%" PRIu64 " session%s evicted\n", n, ctl_plural(n));
}

const struct ctl_command ctl_cmd_evict = {
	.name = "evict",
	.synopsis = "SESSION | --all CLIENT",
	.summary = "Ends sessions of the brick of this machine",
	.details =
		"Their connections are closed and their keys revoked; what they wrote since their\n"
		"last flush may be lost with them. A client may connect anew: take its section\n"
		"out of the configuration to keep it away. SESSION is an id of brickctl sessions.\n"
		"\n"
		"Example: brickctl evict 1f00a3b5c2d4e6f7",
	.options = options,
	.words_more = 1,
	.changes = true,
	.run = run_evict,
};
