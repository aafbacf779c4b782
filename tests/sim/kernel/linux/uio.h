/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of memory. */
#ifndef SIM_LINUX_UIO_H
#define SIM_LINUX_UIO_H

#include <linux/bvec.h>
#include <linux/types.h>
#include <sys/uio.h>

struct kvec {
	void *iov_base;
	size_t iov_len;
};

struct iov_iter {
	size_t count;
};

#define ITER_SOURCE 1

static inline void iov_iter_bvec(struct iov_iter *i, unsigned int direction,
				 const struct bio_vec *bvec,
				 unsigned long n_segs, size_t count)
{
	i->count = count;
}

#endif
