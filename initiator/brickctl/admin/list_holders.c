// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who has which blocks mapped: what only administrators see.
 */
#include <inttypes.h>
#include <stdio.h>

#include "initiator/brickctl/admin/admin.h"
#include "initiator/brickctl/base/table.h"

/* "mapped,rw,exclusive" */
#define FLAGS_BYTES 64

static const char *join_flags(struct json_object *holder,
			      char text[FLAGS_BYTES])
{
	size_t n, i;
	struct json_object *flags = ctl_admin_list(holder, "flags", &n);
	int len = 0;

	*text = '\0';
	for (i = 0; i < n && len < FLAGS_BYTES; i++)
		len += snprintf(text + len, FLAGS_BYTES - (size_t)len, "%s%s",
				i ? "," : "",
				json_object_get_string(
					json_object_array_get_idx(flags, i)));
	return text;
}

static int print_holders_text(struct ctl *ctl, struct json_object *list)
{
	static const char *const columns[] = { "ADDRESS", ">BLOCKS", "MAPPING",
					       "CLIENT",  "SESSION", "PEER",
					       "FLAGS",	  NULL };
	size_t n = json_object_array_length(list);
	char flags[FLAGS_BYTES];
	struct ctl_table t;
	size_t i;

	ctl_table_begin(&t, columns);
	for (i = 0; i < n; i++) {
		struct json_object *h = json_object_array_get_idx(list, i);

		ctl_table_row(&t);
		ctl_table_cell(&t, "%s", ctl_admin_text(h, "va"));
		ctl_table_cell(&t, "%" PRIu64, ctl_admin_count(h, "n_blocks"));
		ctl_table_cell(&t, "%s", ctl_admin_text(h, "mapping_id"));
		ctl_table_cell(&t, "%s", ctl_admin_text(h, "client"));
		ctl_table_cell(&t, "%s", ctl_admin_text(h, "session"));
		ctl_table_cell(&t, "%s", ctl_admin_text(h, "peer"));
		ctl_table_cell(&t, "%s", join_flags(h, flags));
	}
	if (ctl_table_end(&t))
		return ctl_no_memory(ctl);
	printf("%zu mapped extent%s\n", n, ctl_plural(n));
	return CTL_DONE;
}

int ctl_list_holders(struct ctl *ctl)
{
	struct json_object *list, *object;
	uint64_t n_blocks = 0;
	size_t i, n;
	int status;

	status = ctl_admin_all(ctl, "mapped", &list);
	if (status)
		return status;
	if (!ctl->json) {
		status = print_holders_text(ctl, list);
		json_object_put(list);
		return status;
	}
	n = json_object_array_length(list);
	for (i = 0; i < n; i++)
		n_blocks += ctl_admin_count(json_object_array_get_idx(list, i),
					    "n_blocks");
	object = json_object_new_object();
	ctl_json_text(object, "what", "mapped");
	ctl_json_count(object, "n_extents", n);
	ctl_json_count(object, "n_blocks", n_blocks);
	json_object_object_add(object, "extents", list);
	ctl_json_print(object);
	return CTL_DONE;
}
