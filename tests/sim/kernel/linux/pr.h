/* SPDX-License-Identifier: BSD-2-Clause */
/* Persistent reservations of a disk: nobody asks for any here. */
#ifndef SIM_LINUX_PR_H
#define SIM_LINUX_PR_H

#include <linux/types.h>

struct block_device;

enum pr_type {
	PR_WRITE_EXCLUSIVE = 1,
	PR_EXCLUSIVE_ACCESS = 2,
	PR_WRITE_EXCLUSIVE_REG_ONLY = 3,
	PR_EXCLUSIVE_ACCESS_REG_ONLY = 4,
	PR_WRITE_EXCLUSIVE_ALL_REGS = 5,
	PR_EXCLUSIVE_ACCESS_ALL_REGS = 6,
};

#define PR_FL_IGNORE_KEY (1U << 0)

struct pr_keys {
	u32 generation;
	u32 num_keys;
	u64 keys[];
};

struct pr_held_reservation {
	u64 key;
	u32 generation;
	enum pr_type type;
};

struct pr_ops {
	int (*pr_register)(struct block_device *bdev, u64 old_key, u64 new_key,
			   u32 flags);
	int (*pr_reserve)(struct block_device *bdev, u64 key, enum pr_type type,
			  u32 flags);
	int (*pr_release)(struct block_device *bdev, u64 key,
			  enum pr_type type);
	int (*pr_preempt)(struct block_device *bdev, u64 old_key, u64 new_key,
			  enum pr_type type, bool abort);
	int (*pr_clear)(struct block_device *bdev, u64 key);
	int (*pr_read_keys)(struct block_device *bdev, struct pr_keys *keys);
	int (*pr_read_reservation)(struct block_device *bdev,
				   struct pr_held_reservation *held);
};

#endif
