// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl unmap: ends a mapping.
 */
#include "initiator/brickctl/base/brickctl.h"

static int run_unmap(struct ctl *ctl, const struct ctl_args *args)
{
	struct json_object *object;
	char text[CTL_ID_TEXT_BYTES];
	uint64_t id;
	int status;
	int err;

	status = ctl_read_id(ctl, "mapping", args->words[0], &id);
	if (!status)
		status = ctl_connect(ctl);
	if (status)
		return status;
	err = kfbrick_unmap_id(ctl->k, id);
	if (err)
		return ctl_fail_call(ctl, err, "mapping %s",
				     ctl_id_text(text, id));
	object = json_object_new_object();
	ctl_json_id(object, "mapping_id", id);
	return ctl_done(ctl, object, "mapping %s ended\n",
			ctl_id_text(text, id));
}

const struct ctl_command ctl_cmd_unmap = {
	.name = "unmap",
	.synopsis = "ID",
	.summary =
		"Ends a mapping of this client; its keys are dead afterwards",
	.details =
		"ID is what map printed and what list mine shows; any session of the same client\n"
		"may end the mapping. Whoever still uses its keys loses the connection.\n"
		"\n"
		"Example: brickctl unmap 7d2c550000000001",
	.words = 1,
	.changes = true,
	.run = run_unmap,
};
