/* SPDX-License-Identifier: BSD-2-Clause */
/* The smaller and the larger one. */
#ifndef SIM_LINUX_MINMAX_H
#define SIM_LINUX_MINMAX_H

#define min(a, b)                                  \
	({                                         \
		typeof(a) min_a_ = (a);            \
		typeof(b) min_b_ = (b);            \
		min_a_ < min_b_ ? min_a_ : min_b_; \
	})
#define max(a, b)                                  \
	({                                         \
		typeof(a) max_a_ = (a);            \
		typeof(b) max_b_ = (b);            \
		max_a_ > max_b_ ? max_a_ : max_b_; \
	})
#define min_not_zero(a, b)                                                \
	({                                                                \
		typeof(a) min_x_ = (a);                                   \
		typeof(b) min_y_ = (b);                                   \
		!min_x_ || (min_y_ && min_y_ < min_x_) ? min_y_ : min_x_; \
	})
#define min3(a, b, c)	  min(min(a, b), c)
#define max3(a, b, c)	  max(max(a, b), c)
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define swap(a, b)                     \
	do {                           \
		typeof(a) swap_ = (a); \
		(a) = (b);             \
		(b) = swap_;           \
	} while (0)

#endif
