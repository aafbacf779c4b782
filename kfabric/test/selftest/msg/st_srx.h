/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Selftest: what the tests of shared receive contexts have in common: a context of the
 * passive side, and connections that take their receives from it.
 */
#ifndef KFABRIC_SELFTEST_ST_SRX_H
#define KFABRIC_SELFTEST_ST_SRX_H

#include <kfabric/fi_shared.h>

#include "../st.h"

#define PAIRS	  4
#define RXS	  12 /* operations, and buffers, of a bench */
#define BUF_BYTES 65536
#define FEW	  4 /* receives of a small context */

/* A context, pairs whose passive ends are bound to it, and operations. */
struct st_shared {
	struct st *st;
	struct fid_cq *cq; /* of the context: what nobody took */
	struct fid_ep *srx;
	struct st_pair p[PAIRS];
	struct st_op *tx[RXS];
	struct st_op *rx[RXS];
	u8 *out;
	u8 *in;
};

/* t_srx.c */
int st_srx_open(struct st_shared *s, struct st *st,
		const struct fi_rx_attr *attr);
int st_srx_connect(struct st_shared *s, int pair, u32 timeout_ms);
void st_srx_close(struct st_shared *s);
ssize_t st_srx_post(struct st_shared *s, unsigned int i);
unsigned int st_srx_post_range(struct st_shared *s, unsigned int from,
			       unsigned int to);
bool st_srx_pass(struct st_shared *s, int pair, unsigned int tx,
		 const struct st_op *want);
void st_srx_on_low(struct fid_ep *srx, void *context);

/* t_srx_offer.c: is there more to try? */
bool st_srx_offer(struct st *st);

/* t_srx_crowd.c */
void st_srx_together(struct st *st, bool upcalls);

#endif /* KFABRIC_SELFTEST_ST_SRX_H */
