// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: the sets of operations by which upper layers get at the verbs objects:
 * kfabric/fi_verbs.h.
 *
 * What is lent is counted by a struct kfiv_loan of its owner. The owner's end, which may
 * be come to on several ways, lends nothing more, and waits until all is back, before
 * anything of it is freed.
 */
#include <kfabric/fi_verbs.h>

#include "verbs.h"

void kfiv_loan_init(struct kfiv_loan *loan)
{
	refcount_set(&loan->lent, 1);
	init_completion(&loan->back);
}

static bool kfiv_loan_get(struct kfiv_loan *loan)
{
	return refcount_inc_not_zero(&loan->lent);
}

static void kfiv_loan_put(struct kfiv_loan *loan)
{
	if (refcount_dec_and_test(&loan->lent))
		complete_all(&loan->back);
}

void kfiv_loan_end(struct kfiv_loan *loan)
{
	if (!test_and_set_bit(0, &loan->ended))
		kfiv_loan_put(loan);
	wait_for_completion(&loan->back);
}

/* ---- domain -------------------------------------------------------------------- */

static int kfiv_domain_lend(struct fid_domain *fdomain,
			    struct fi_verbs_domain *objects)
{
	struct kfiv_domain *domain = to_kfiv_domain(fdomain);

	if (!kfiv_loan_get(&domain->loan))
		return -ENODEV;
	*objects = (struct fi_verbs_domain){ .device = domain->dev->ib,
					     .pd = domain->pd };
	return 0;
}

static void kfiv_domain_back(struct fid_domain *domain)
{
	kfiv_loan_put(&to_kfiv_domain(domain)->loan);
}

static const struct fi_verbs_ops_domain kfiv_verbs_domain_ops = {
	.size = sizeof(struct fi_verbs_ops_domain),
	.get = kfiv_domain_lend,
	.put = kfiv_domain_back,
};

/* ---- endpoint ------------------------------------------------------------------ */

static int kfiv_ep_lend(struct fid_ep *fep, struct fi_verbs_ep *objects)
{
	struct kfiv_ep *ep = to_kfiv_ep(fep);
	int ret = 0;

	mutex_lock(&ep->mutex);
	if (READ_ONCE(fep->fid.dead))
		ret = -ENODEV;
	else if (ep->stopped)
		ret = -ENOTCONN;
	else if (!ep->qp)
		ret = -FI_EOPBADSTATE;
	else if (!kfiv_loan_get(&ep->loan))
		ret = -ENODEV;
	if (!ret)
		*objects = (struct fi_verbs_ep){ .qp = ep->qp,
						 .send_cq = ep->cq[0],
						 .recv_cq = ep->cq[1] };
	mutex_unlock(&ep->mutex);
	return ret;
}

static void kfiv_ep_back(struct fid_ep *ep)
{
	kfiv_loan_put(&to_kfiv_ep(ep)->loan);
}

static const struct fi_verbs_ops_ep kfiv_verbs_ep_ops = {
	.size = sizeof(struct fi_verbs_ops_ep),
	.get = kfiv_ep_lend,
	.put = kfiv_ep_back,
};

/* ---- region -------------------------------------------------------------------- */

static int kfiv_mr_lend(struct fid_mr *fmr, struct ib_mr **object)
{
	struct kfiv_mr *mr = to_kfiv_mr(fmr);

	if (!kfiv_loan_get(&mr->loan))
		return -ENODEV;
	*object = mr->ib;
	return 0;
}

static void kfiv_mr_back(struct fid_mr *mr)
{
	kfiv_loan_put(&to_kfiv_mr(mr)->loan);
}

static const struct fi_verbs_ops_mr kfiv_verbs_mr_ops = {
	.size = sizeof(struct fi_verbs_ops_mr),
	.get = kfiv_mr_lend,
	.put = kfiv_mr_back,
};

/* ---- all ------------------------------------------------------------------------ */

static const struct {
	enum fi_class fclass;
	const char *name;
	const void *ops;
} kfiv_sets[] = {
	{ FI_CLASS_DOMAIN, FI_VERBS_DOMAIN_OPS, &kfiv_verbs_domain_ops },
	{ FI_CLASS_EP, FI_VERBS_EP_OPS, &kfiv_verbs_ep_ops },
	{ FI_CLASS_MR, FI_VERBS_MR_OPS, &kfiv_verbs_mr_ops },
};

int kfiv_ops_open(struct kfid *fid, const char *name, u64 flags, void **ops,
		  void *context)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kfiv_sets); i++)
		if (kfiv_sets[i].fclass == fid->fclass &&
		    !strcmp(kfiv_sets[i].name, name)) {
			*ops = (void *)kfiv_sets[i].ops;
			return 0;
		}
	return -ENOSYS;
}
