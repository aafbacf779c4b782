/* SPDX-License-Identifier: BSD-2-Clause */
/* What must not be. */
#ifndef SIM_LINUX_BUG_H
#define SIM_LINUX_BUG_H

#include "../machine.h"

#define WARN_ON(cond)                                      \
	({                                                 \
		bool is_bad_ = !!(cond);                   \
		if (is_bad_)                               \
			km_broken("a warning: %s", #cond); \
		is_bad_;                                   \
	})
#define WARN_ON_ONCE(cond) WARN_ON(cond)
#define BUG_ON(cond)	   ((void)WARN_ON(cond))
#define BUILD_BUG_ON(cond) _Static_assert(!(cond), #cond)
#ifndef static_assert
#define static_assert(cond) _Static_assert(cond, #cond)
#endif

#endif
