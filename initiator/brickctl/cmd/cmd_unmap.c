// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl unmap: ends a mapping.
 */
#include <inttypes.h>
#include <stdio.h>

#include "initiator/brickctl/brickctl.h"

static int run_unmap(struct ctl *ctl, const struct ctl_args *args)
{
	struct json_object *object;
	uint64_t id;
	int status;
	int err;

	status = ctl_read_number(ctl, "mapping", args->words[0], UINT64_MAX,
				 &id);
	if (!status)
		status = ctl_connect(ctl);
	if (status)
		return status;
	err = kfbrick_unmap_id(ctl->k, id);
	if (err)
		return ctl_fail_call(ctl, err, "mapping 0x%" PRIx64, id);
	if (!ctl->json) {
		printf("mapping 0x%" PRIx64 " ended\n", id);
		return CTL_DONE;
	}
	object = json_object_new_object();
	ctl_json_hex(object, "mapping_id", id);
	ctl_json_print(object);
	return CTL_DONE;
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
		"Example: brickctl unmap 0x1f",
	.words_min = 1,
	.words_max = 1,
	.changes = true,
	.run = run_unmap,
};
