// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl doctor: what this machine, a store and a brick can promise.
 */
#include <stdio.h>
#include <string.h>

#include "initiator/brickctl/doctor/doctor.h"
#include "kfb_scheme.h"

enum {
	OPT_STORE,
	OPT_SYSFS
};

static const struct ctl_option options[] = {
	[OPT_STORE] = { "store", 0, "PATH", "look at this store, too" },
	[OPT_SYSFS] = { "sysfs", 0, "DIR", "a copy of sysfs in place of /sys" },
	{ NULL },
};

static const struct doctor_check checks[] = {
	{ "versions", doctor_check_versions },
	{ "limits.memlock", doctor_check_memlock },
	{ "limits.nofile", doctor_check_nofile },
	{ "rdma.devices", doctor_check_devices },
	{ "rdma.nodes", doctor_check_nodes },
	{ "fabric", doctor_check_schemes },
	{ "pmem.regions", doctor_check_regions },
	{ "pmem.namespaces", doctor_check_namespaces },
	{ "store", doctor_check_store },
	{ "brick", doctor_check_brick },
	{ "path", doctor_check_path },
};

#define N_CHECKS (sizeof(checks) / sizeof(checks[0]))

static int run_doctor(struct ctl *ctl, const struct ctl_args *args)
{
	struct doctor d = {
		.ctl = ctl,
		.store = args->options[OPT_STORE],
		.sysfs = args->options[OPT_SYSFS],
	};
	const struct kfb_scheme *scheme = NULL;
	unsigned int i, problems, notes;
	struct json_object *object;
	const char *host;

	if (!d.sysfs)
		d.sysfs = "/sys";
	d.findings = ctl->json ? json_object_new_array() : NULL;
	/* Whatever is wrong with the brick's name is for its check to tell. */
	ctl->catching = &d.settings;
	if (ctl_settings_complete(ctl))
		d.settings_error = d.settings.error;
	ctl->catching = NULL;
	if (ctl->settings.brick)
		scheme = kfb_scheme_of(ctl->settings.brick, &host);
	d.wants_rdma = scheme && scheme->is_rdma;
	for (i = 0; i < N_CHECKS; i++) {
		d.check = checks[i].name;
		checks[i].run(&d);
	}
	problems = d.counts[DOCTOR_PROBLEM];
	notes = d.counts[DOCTOR_NOTE];
	object = ctl_json_of("findings", d.findings);
	ctl_json_count(object, "n_problems", problems);
	ctl_json_count(object, "n_notes", notes);
	ctl_done(ctl, object, "%u problem%s, %u note%s\n", problems,
		 ctl_plural(problems), notes, ctl_plural(notes));
	return problems ? CTL_REFUSED : CTL_DONE;
}

const struct ctl_command ctl_cmd_doctor = {
	.name = "doctor",
	.synopsis = "[--store PATH]",
	.summary = "Says what this machine and a brick can promise",
	.details =
		"Looks at the limits of this process, the RDMA devices, the persistent memory,\n"
		"with --store at a store on this machine, and at the brick when one is named,\n"
		"and says what to do about what it finds. It changes nothing. The exit status is\n"
		"0 when all is well, with notes or without, and 1 when there are problems.\n"
		"\n"
		"Example: brickctl doctor --store /dev/dax0.0",
	.options = options,
	.run = run_doctor,
};
