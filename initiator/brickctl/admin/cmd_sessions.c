// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl sessions: who uses the brick of this machine.
 */
#include <inttypes.h>
#include <stdio.h>

#include "initiator/brickctl/admin/admin.h"
#include "initiator/brickctl/base/table.h"

static int print_sessions_text(struct ctl *ctl, struct json_object *list)
{
	static const char *const columns[] = { "SESSION", "CLIENT",   "PEER",
					       "STATE",	  ">LEASE",   ">Q",
					       ">MAPS",	  ">HANDLES", ">BUSY",
					       ">OPS",	  ">FAILED",  NULL };
	static const char *const counts[] = { "queues", "mappings", "handles",
					      "ops_in_flight" };
	size_t n = json_object_array_length(list);
	struct ctl_table t;
	size_t i, j;

	ctl_table_begin(&t, columns);
	for (i = 0; i < n; i++) {
		struct json_object *s = json_object_array_get_idx(list, i);

		ctl_table_row(&t);
		ctl_table_cell(&t, "%s", ctl_admin_text(s, "session"));
		ctl_table_cell(&t, "%s", ctl_admin_text(s, "client"));
		ctl_table_cell(&t, "%s", ctl_admin_text(s, "peer"));
		ctl_table_cell(&t, "%s", ctl_admin_text(s, "state"));
		if (json_object_object_get_ex(s, "lease_left_ms", NULL))
			ctl_table_cell(
				&t, "%.1f",
				(double)ctl_admin_count(s, "lease_left_ms") /
					1e3);
		else
			ctl_table_cell(&t, "-");
		for (j = 0; j < sizeof(counts) / sizeof(counts[0]); j++)
			ctl_table_cell(&t, "%" PRIu64,
				       ctl_admin_count(s, counts[j]));
		ctl_table_cell(&t, "%" PRIu64, ctl_admin_session_ops(s));
		ctl_table_cell(&t, "%" PRIu64, ctl_admin_count(s, "failed"));
	}
	if (ctl_table_end(&t))
		return ctl_no_memory(ctl);
	printf("%zu session%s\n", n, ctl_plural(n));
	return CTL_DONE;
}

static int run_sessions(struct ctl *ctl, const struct ctl_args *args)
{
	struct json_object *list;
	int status = ctl_admin_all(ctl, "sessions", &list);

	if (status)
		return status;
	if (ctl->json) {
		ctl_json_print(ctl_json_of("sessions", list));
		return CTL_DONE;
	}
	status = print_sessions_text(ctl, list);
	json_object_put(list);
	return status;
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
