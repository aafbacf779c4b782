// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the platform below persistent memory keeps when the power goes.
 */
#include <string.h>

#include "initiator/brickctl/doctor/doctor.h"

void doctor_platform(struct doctor *d, const char *name, const char *domain)
{
	if (!strcmp(domain, "cpu_cache"))
		doctor_found(d, DOCTOR_OK, NULL,
			     "%s: the CPU's caches survive a loss of power",
			     name);
	else if (!strcmp(domain, "memory_controller"))
		doctor_found(
			d, DOCTOR_NOTE,
			"nothing is needed: brickd takes DDIO for on and flushes the caches itself (flush mode message)",
			"%s: what has reached the memory controller survives, the CPU's caches do not; whether network cards write into the caches (DDIO) cannot be found out",
			name);
	else
		doctor_found(
			d, DOCTOR_PROBLEM,
			"ndctl list -RN, and the firmware's settings; keep nothing here that must last",
			"%s: the platform does not say what survives a loss of power%s%s",
			name, *domain ? ": " : "", domain);
}
