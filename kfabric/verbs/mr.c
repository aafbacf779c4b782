// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: memory that peers may reach.
 *
 * Fast registration: the pages are mapped and listed when the region is
 * opened; a work request on the bound endpoint's queue pair then makes the
 * device know them. The key is good for that domain only, and only from then
 * on. Freeing the MR is the fence: the device has forgotten the key when
 * ib_dereg_mr() has returned.
 */
#include <linux/scatterlist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "verbs.h"

/* ---- pages ------------------------------------------------------------ */

/* List the buffer's pieces; *page_offset is where the first one begins. */
static int kfiv_fill_table(struct kfiv_mr *mr, const struct fi_buf *buf,
			   u64 *page_offset)
{
	struct kfi_buf_iter it;
	struct scatterlist *sg;
	struct kfi_seg seg;
	u32 n = 0;

	kfi_buf_start(&it, buf);
	while (kfi_buf_next(&it, UINT_MAX & PAGE_MASK, &seg))
		n++;
	if (!n || sg_alloc_table(&mr->table, n, GFP_KERNEL))
		return -ENOMEM;
	kfi_buf_start(&it, buf);
	for (sg = mr->table.sgl; sg; sg = sg_next(sg)) {
		kfi_buf_next(&it, UINT_MAX & PAGE_MASK, &seg);
		sg_set_page(sg, seg.page, seg.len, seg.offset);
	}
	*page_offset = mr->table.sgl->offset;
	return 0;
}

/*
 * What peers only read must not be written back when it is unmapped: where memory of a
 * device's own is between, that has what the owner's had at first.
 */
static enum dma_data_direction kfiv_mr_dir(const struct kfiv_mr *mr)
{
	return mr->access & IB_ACCESS_LOCAL_WRITE ? DMA_BIDIRECTIONAL
						  : DMA_TO_DEVICE;
}

static void kfiv_unmap_table(struct kfiv_mr *mr)
{
	ib_dma_unmap_sg(mr->domain->dev->ib, mr->table.sgl,
			mr->table.orig_nents, kfiv_mr_dir(mr));
}

static int kfiv_map_table(struct kfiv_mr *mr)
{
	struct ib_device *ib = mr->domain->dev->ib;
	int n;

	mr->table.nents = ib_dma_map_sg(ib, mr->table.sgl, mr->table.orig_nents,
					kfiv_mr_dir(mr));
	if (!mr->table.nents)
		return -ENOMEM;
	n = ib_map_mr_sg(mr->ib, mr->table.sgl, mr->table.nents, NULL,
			 PAGE_SIZE);
	/* Holes between the pieces: no one range of addresses has them. */
	if (n != mr->table.nents || mr->ib->length != mr->mr.len) {
		kfiv_unmap_table(mr);
		return -EINVAL;
	}
	return 0;
}

static int kfiv_mr_set_up(struct kfiv_mr *mr, const struct fi_buf *buf)
{
	u32 most = mr->domain->dev->ib->attrs.max_fast_reg_page_list_len;
	u64 page_offset;
	int ret;

	ret = kfiv_fill_table(mr, buf, &page_offset);
	if (ret)
		return ret;
	ret = -E2BIG;
	if (DIV_ROUND_UP_ULL(page_offset + buf->len, PAGE_SIZE) > most)
		goto free_table;
	mr->ib = ib_alloc_mr(mr->domain->pd, IB_MR_TYPE_MEM_REG, most);
	ret = PTR_ERR_OR_ZERO(mr->ib);
	if (ret)
		goto free_table;
	ret = kfiv_map_table(mr);
	if (ret)
		goto dereg;
	/* The address peers use has the offset in the page that it has here. */
	if (!mr->mr.iova)
		mr->mr.iova = mr->ib->iova;
	if ((mr->mr.iova & ~PAGE_MASK) == page_offset) {
		mr->ib->iova = mr->mr.iova;
		return 0;
	}
	ret = -EINVAL;
	kfiv_unmap_table(mr);
dereg:
	ib_dereg_mr(mr->ib);
free_table:
	mr->ib = NULL;
	sg_free_table(&mr->table);
	return ret;
}

/* ---- registration ----------------------------------------------------- */

/* A registration under way lives on the stack of the one who waits. */
struct registration {
	struct ib_reg_wr wr;
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

static void kfiv_mr_registered(struct ib_cq *cq, struct ib_wc *wc)
{
	struct registration *reg =
		container_of(wc->wr_cqe, struct registration, cqe);

	reg->status = wc->status;
	complete(&reg->done);
}

/* Post one, and wait: it is local, and flushed when the queue pair ends. */
static int kfiv_mr_register(struct kfiv_ep *ep, struct registration *reg)
{
	int ret;

	init_completion(&reg->done);
	mutex_lock(&ep->own_mutex);
	ret = kfiv_tx_post_own(ep, &reg->wr.wr);
	if (!ret)
		wait_for_completion(&reg->done);
	mutex_unlock(&ep->own_mutex);
	if (ret)
		return ret == -ENOTCONN ? -FI_EOPBADSTATE : -EIO;
	if (reg->status == IB_WC_SUCCESS)
		return 0;
	kfiv_ep_fail(ep, EIO, reg->status);
	return -EIO;
}

static int kfiv_mr_enable(struct kfiv_mr *mr)
{
	struct registration reg = { .cqe.done = kfiv_mr_registered };
	int ret;

	lockdep_assert_held(&mr->mutex);
	if (mr->enabled)
		return 0;
	ib_update_fast_reg_key(mr->ib, ib_inc_rkey(mr->ib->rkey));
	reg.wr = (struct ib_reg_wr){
		.wr = { .opcode = IB_WR_REG_MR,
			.wr_cqe = &reg.cqe,
			.send_flags = IB_SEND_SIGNALED },
		.mr = mr->ib,
		.key = mr->ib->rkey,
		.access = mr->access,
	};
	ret = kfiv_mr_register(to_kfiv_ep(mr->mr.ep), &reg);
	if (ret)
		return ret;
	mr->enabled = true;
	WRITE_ONCE(mr->mr.key, mr->ib->rkey);
	return 0;
}

/* The mutex keeps the removal away, which frees what this uses. */
static int kfiv_mr_control(struct kfid *fid, int command, void *arg)
{
	struct kfiv_mr *mr = container_of(fid, struct kfiv_mr, mr.fid);
	int ret = -ENODEV;

	if (command != FI_ENABLE)
		return -ENOSYS;
	mutex_lock(&mr->mutex);
	if (mr->ib)
		ret = kfiv_mr_enable(mr);
	mutex_unlock(&mr->mutex);
	return ret;
}

/* ---- end -------------------------------------------------------------- */

/* A device that keeps a key keeps nobody's connection by which it could be used. */
static void kfiv_mr_forget(struct kfiv_mr *mr, struct ib_mr *ib)
{
	int ret = ib_dereg_mr(ib);
	struct kfiv_ep *ep;

	if (!ret)
		return;
	pr_err("kfabric_verbs: %s does not forget a key (%d): its connection ends\n",
	       mr->domain->dev->ib->name, ret);
	if (!mr->enabled)
		return;
	ep = to_kfiv_ep(mr->mr.ep);
	kfiv_ep_fail(ep, EIO, ret);
	kfiv_ep_stop(ep);
}

void kfiv_mr_free_hw(struct kfiv_mr *mr)
{
	struct ib_mr *ib;

	kfiv_loan_end(&mr->loan);
	mutex_lock(&mr->mutex);
	ib = mr->ib;
	mr->ib = NULL;
	mutex_unlock(&mr->mutex);
	if (!ib)
		return;
	kfiv_mr_forget(mr, ib);
	/* siw may be placing a segment that it let pass before that. */
	if (mr->domain->dev->siw)
		synchronize_rcu();
	kfiv_unmap_table(mr);
	sg_free_table(&mr->table);
	kfiv_domain_put_hw(mr->domain);
}

static void kfiv_mr_close(struct kfid *fid)
{
	struct kfiv_mr *mr = container_of(fid, struct kfiv_mr, mr.fid);

	kfiv_domain_del(mr->domain, &mr->node);
	kfiv_mr_free_hw(mr);
}

static const struct fi_ops kfiv_mr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = kfiv_mr_close,
	.release = kfi_obj_kfree,
	.control = kfiv_mr_control,
	.ops_open = kfiv_ops_open,
};

/* ---- open ------------------------------------------------------------- */

static int kfiv_mr_attach(struct kfiv_mr *mr, const struct fi_buf *buf)
{
	unsigned int noio;
	int ret;

	if (!kfiv_domain_get_hw(mr->domain))
		return -ENODEV;
	noio = memalloc_noio_save();
	/* siw lets peers read whatever they have a key of. */
	ret = mr->domain->dev->siw && !(mr->access & IB_ACCESS_REMOTE_READ)
		      ? -EOPNOTSUPP
		      : kfiv_mr_set_up(mr, buf);
	memalloc_noio_restore(noio);
	if (ret) {
		kfiv_domain_put_hw(mr->domain);
		return ret;
	}
	if (!kfiv_domain_add(mr->domain, &mr->node, &mr->domain->mrs)) {
		kfiv_mr_free_hw(mr);
		return -ENODEV;
	}
	return 0;
}

int kfiv_mr_regattr(struct fid_domain *fdomain, const struct fi_mr_attr *attr,
		    u64 flags, struct fid_mr **out)
{
	struct kfiv_mr *mr;
	int ret;

	if ((attr->access & FI_ATOMIC) && !to_kfiv_domain(fdomain)->atomic)
		return -EOPNOTSUPP;
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return -ENOMEM;
	mr->domain = to_kfiv_domain(fdomain);
	if (attr->access & FI_REMOTE_READ)
		mr->access |= IB_ACCESS_REMOTE_READ;
	if (attr->access & FI_REMOTE_WRITE)
		mr->access |= IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
	if (attr->access & FI_ATOMIC)
		mr->access |= IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_LOCAL_WRITE;
	mutex_init(&mr->mutex);
	kfiv_loan_init(&mr->loan);
	INIT_LIST_HEAD(&mr->node);
	ret = kfi_mr_init(&mr->mr, fdomain, &kfiv_mr_fid_ops, attr);
	if (ret) {
		kfree(mr);
		return ret;
	}
	ret = kfiv_mr_attach(mr, &attr->buf);
	if (ret) {
		kfi_obj_abort(&mr->mr.fid);
		return ret;
	}
	*out = &mr->mr;
	return 0;
}
