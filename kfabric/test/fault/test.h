/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of the fault layer's test module share: results, and pairs
 * of connected endpoints with memory to write to.
 *
 * One thread runs all tests. Every wait has a deadline.
 */
#ifndef KFABRIC_FAULT_TEST_H
#define KFABRIC_FAULT_TEST_H

#include <linux/types.h>

#include <kfabric/kfi_provider.h>

#include "ctl.h"

#define FT_WAIT_MS 60000 /* deadline of everything that must come */
#define FT_LEN	   (512 * 1024) /* bytes of a target's memory */
#define FT_KEY	   0xfa1700ULL
#define FT_OPS	   8 /* operation memory per pair */

/* ---- fault_test.c ---- */

bool ft_check(bool ok, const char *what, long long got, long long want);

#define CHECK(cond, what) ft_check(cond, what, 0, 0)
#define CHECK_EQ(got, want, what)                           \
	({                                                  \
		long long _got = (got), _want = (want);     \
		ft_check(_got == _want, what, _got, _want); \
	})

/* ---- test_pair.c ---- */

struct ft_pair {
	struct fid_eq *eq; /* of both endpoints */
	struct fid_cq *acq;
	struct fid_cq *bcq;
	struct fid_ep *a; /* writes to b's memory */
	struct fid_ep *b;
	struct fid_mr *mr;
	u8 *src; /* FT_LEN bytes each */
	u8 *dst;
	u8 *ops;
	size_t op_size;
};

int ft_setup(void);
void ft_teardown(void);
int ft_event(struct fid_eq *eq, u32 *event, struct fi_info **info);
int ft_pair_open(struct ft_pair *p, u32 op_timeout_ms, struct fi_cq_attr *cq,
		 void *cq_context);
int ft_pair_join(struct ft_pair *p);
void ft_pair_close(struct ft_pair *p);
struct fi_context *ft_op(struct ft_pair *p, unsigned int i);
ssize_t ft_post_write(struct ft_pair *p, unsigned int i, u64 offset,
		      size_t len);
ssize_t ft_post_flush(struct ft_pair *p, unsigned int i, u64 offset,
		      size_t len);
int ft_comp(struct fid_cq *cq, int timeout_ms, struct fi_context **context);
int ft_write(struct ft_pair *p, u64 offset, size_t len, u8 value);
int ft_flush(struct ft_pair *p, u64 offset, size_t len);
bool ft_holds(const struct ft_pair *p, u64 offset, size_t len, u8 value);
unsigned int ft_shutdowns(struct ft_pair *p);

/* ---- the tests ---- */

void ft_faults(void);
void ft_power(void);

#endif /* KFABRIC_FAULT_TEST_H */
