// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: what is chosen when the module is loaded: the order of providers,
 * those who are not offered, and how long operations and connections may take.
 *
 * Context: any.
 */
#include <linux/limits.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#include "core.h"

static char *kfi_order = "";
module_param_named(order, kfi_order, charp, 0444);
MODULE_PARM_DESC(order,
		 "providers that come first, in this order, comma between");
static char *kfi_exclude = "";
module_param_named(exclude, kfi_exclude, charp, 0444);
MODULE_PARM_DESC(exclude,
		 "providers for those only who name them, comma between");
static unsigned int kfi_op_timeout_ms;
module_param_named(op_timeout_ms, kfi_op_timeout_ms, uint, 0644);
MODULE_PARM_DESC(op_timeout_ms,
		 "of operations, unless the user says; 0: the provider's");
static unsigned int kfi_cm_timeout_ms;
module_param_named(cm_timeout_ms, kfi_cm_timeout_ms, uint, 0644);
MODULE_PARM_DESC(cm_timeout_ms,
		 "of connecting, unless the user says; 0: the provider's");

/* Which of the names in a list it is, or INT_MAX. */
static int kfi_place_in(const char *list, const char *name)
{
	size_t len = strlen(name), n;
	int place;

	for (place = 0; *list; place++, list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (n == len && !strncmp(list, name, n))
			return place;
	}
	return INT_MAX;
}

bool kfi_prov_comes_before(const struct kfi_provider *a,
			   const struct kfi_provider *b)
{
	int place_a = kfi_place_in(kfi_order, a->name);
	int place_b = kfi_place_in(kfi_order, b->name);

	return place_a != place_b ? place_a < place_b
				  : a->preference < b->preference;
}

bool kfi_prov_is_excluded(const struct kfi_provider *prov)
{
	return kfi_place_in(kfi_exclude, prov->name) != INT_MAX;
}

u32 kfi_choose_op_timeout(u32 wish, u32 usual)
{
	return wish ?: READ_ONCE(kfi_op_timeout_ms) ?: usual;
}

u32 kfi_choose_cm_timeout(u32 wish, u32 usual)
{
	return wish ?: READ_ONCE(kfi_cm_timeout_ms) ?: usual;
}
