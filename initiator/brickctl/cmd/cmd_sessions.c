// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl sessions: who uses the brick of this machine.
 */
#include <inttypes.h>
#include <stdio.h>

#include "initiator/brickctl/cmd/admin.h"

static void print_sessions_text(struct json_object *list)
{
	size_t n = json_object_array_length(list);
	size_t i;

	printf("%-16s %-12s %-26s %-8s %6s %2s %6s %7s %4s %9s %7s\n",
	       "SESSION", "CLIENT", "PEER", "STATE", "LEASE", "Q", "MAPS",
	       "HANDLES", "BUSY", "OPS", "FAILED");
	for (i = 0; i < n; i++) {
		struct json_object *s = json_object_array_get_idx(list, i);

		printf("%-16s %-12s %-26s %-8s", ctl_admin_text(s, "session"),
		       ctl_admin_text(s, "client"), ctl_admin_text(s, "peer"),
		       ctl_admin_text(s, "state"));
		if (json_object_object_get_ex(s, "lease_left_ms", NULL))
			printf(" %6.1f",
			       (double)ctl_admin_count(s, "lease_left_ms") /
				       1e3);
		else
			printf(" %6s", "-");
		printf(" %2" PRIu64 " %6" PRIu64 " %7" PRIu64 " %4" PRIu64
		       " %9" PRIu64 " %7" PRIu64 "\n",
		       ctl_admin_count(s, "queues"),
		       ctl_admin_count(s, "mappings"),
		       ctl_admin_count(s, "handles"),
		       ctl_admin_count(s, "ops_in_flight"),
		       ctl_admin_session_ops(s), ctl_admin_count(s, "failed"));
	}
	printf("%zu session%s\n", n, ctl_plural(n));
}

static int run_sessions(struct ctl *ctl, const struct ctl_args *args)
{
	struct json_object *list = NULL;
	struct json_object *object;
	struct ctl_admin a;
	int status;

	status = ctl_admin_open(ctl, &a);
	if (status)
		return status;
	status = ctl_admin_sessions(ctl, &a, &list);
	ctl_admin_close(&a);
	if (status)
		return status;
	if (!ctl->json) {
		print_sessions_text(list);
		json_object_put(list);
		return CTL_DONE;
	}
	object = json_object_new_object();
	json_object_object_add(object, "sessions", list);
	ctl_json_print(object);
	return CTL_DONE;
}

const struct ctl_command ctl_cmd_sessions = {
	.name = "sessions",
	.synopsis = "",
	.summary = "Shows who uses the brick of this machine",
	.details =
		"Asks brickd over its admin socket (--admin), as root or as the user that brickd\n"
		"runs as. LEASE is what is left of the session's lease, in seconds. BUSY counts\n"
		"requests that are not answered yet, OPS all, FAILED those that were refused or\n"
		"failed. Reads and writes of mapped\n"
		"blocks do not pass through brickd and are not counted.\n"
		"\n"
		"Example: brickctl sessions",
	.run = run_sessions,
};
