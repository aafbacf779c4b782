/* SPDX-License-Identifier: BSD-2-Clause */
/* Rounding. */
#ifndef SIM_LINUX_MATH_H
#define SIM_LINUX_MATH_H

#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#define ALIGN(x, a)	   (((x) + (a)-1) & ~((typeof(x))(a)-1))
#define ALIGN_DOWN(x, a)   ((x) & ~((typeof(x))(a)-1))
#define IS_ALIGNED(x, a)   (!((x) & ((typeof(x))(a)-1)))
#define round_up(x, y)	   ALIGN(x, y)
#define round_down(x, y)   ALIGN_DOWN(x, y)

#endif
