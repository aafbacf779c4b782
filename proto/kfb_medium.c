// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The names of media, in one table.
 *
 * Context: any.
 */
#include "kfb_medium.h"
#include "kfb_wire.h"

static const struct {
	const char *name;
	const char *text;
} kfb_media[KFB_MEDIUM_LAST + 1] = {
	[0] = { "unknown", "unknown" },
	[KFB_MEDIUM_VOLATILE] = { "volatile", "volatile memory" },
	[KFB_MEDIUM_FILE] = { "file", "a file" },
	[KFB_MEDIUM_FSDAX] = { "fsdax", "fsdax" },
	[KFB_MEDIUM_DEVDAX] = { "devdax", "devdax" },
	[KFB_MEDIUM_BATTERY] = { "battery", "memory kept by a battery" },
	[KFB_MEDIUM_CXL] = { "cxl", "persistent memory behind CXL" },
};

const char *kfb_medium_name(__u32 medium)
{
	return kfb_media[medium <= KFB_MEDIUM_LAST ? medium : 0].name;
}

const char *kfb_medium_text(__u32 medium)
{
	return kfb_media[medium <= KFB_MEDIUM_LAST ? medium : 0].text;
}
