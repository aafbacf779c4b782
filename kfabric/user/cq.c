// SPDX-License-Identifier: BSD-2-Clause
/*
 * Completion queues. A completion is the operation itself, so that a queue can
 * neither overrun nor fail for want of memory; endpoints bound how many there
 * are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "impl.h"

/* The formats are prefixes of each other. */
static const size_t entry_bytes[] = {
	[FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
	[FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
	[FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
	[FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
};

bool stcp_cq_reserve(struct stcp_cq *cq)
{
	if (atomic_fetch_add(&cq->n_unbidden, 1) < STCP_UNBIDDEN_MAX)
		return true;
	atomic_fetch_sub(&cq->n_unbidden, 1);
	/* A reader who comes now looks for whom to wake. */
	atomic_store(&cq->stalled, true);
	if (atomic_fetch_add(&cq->n_unbidden, 1) < STCP_UNBIDDEN_MAX)
		return true;
	atomic_fetch_sub(&cq->n_unbidden, 1);
	return false;
}

void stcp_cq_release(struct stcp_cq *cq)
{
	atomic_fetch_sub(&cq->n_unbidden, 1);
	if (!atomic_load(&cq->stalled))
		return;
	/* The caller holds an endpoint's lock: others are a reader's to wake. */
	pthread_mutex_lock(&cq->lock);
	stcp_wait_signal(&cq->wait);
	pthread_mutex_unlock(&cq->lock);
}

/* Somebody waits for room for completions of writes, and there is some. */
static bool is_stalled_for_nothing(struct stcp_cq *cq)
{
	return atomic_load(&cq->stalled) &&
	       atomic_load(&cq->n_unbidden) < STCP_UNBIDDEN_MAX;
}

static void resume_stalled(struct stcp_cq *cq)
{
	struct stcp_cq_seat *seat;

	if (!is_stalled_for_nothing(cq) ||
	    !atomic_exchange(&cq->stalled, false))
		return;
	pthread_mutex_lock(&cq->eps_lock);
	LIST_FOREACH(seat, &cq->eps, link)
	{
		pthread_mutex_lock(&seat->ep->lock);
		stcp_rx_resume(seat->ep, STCP_NO_READER);
		pthread_mutex_unlock(&seat->ep->lock);
	}
	pthread_mutex_unlock(&cq->eps_lock);
}

static ssize_t take_entries(struct stcp_cq *cq, void *buf, size_t count)
{
	size_t bytes = entry_bytes[cq->format];
	struct stcp_op *op;
	uint8_t *to = buf;
	bool has_failed;
	size_t n = 0;

	pthread_mutex_lock(&cq->lock);
	while (n < count && (op = STAILQ_FIRST(&cq->done)) && !op->err) {
		STAILQ_REMOVE_HEAD(&cq->done, done_link);
		memcpy(to,
		       &(struct fi_cq_tagged_entry){ .op_context = op->context,
						     .flags = op->flags,
						     .len = op->len,
						     .data = op->data },
		       bytes);
		if (op->unbidden)
			atomic_fetch_sub(&cq->n_unbidden, 1);
		free(op);
		to += bytes;
		n++;
	}
	/* Another thread may read the error, and free it, after this. */
	op = STAILQ_FIRST(&cq->done);
	has_failed = op && op->err;
	pthread_mutex_unlock(&cq->lock);
	resume_stalled(cq);
	if (n)
		return (ssize_t)n;
	return has_failed ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct stcp_cq *cq = stcp_container_of(fid, struct stcp_cq, fid);
	struct stcp_cq_seat *seat;
	ssize_t n;

	if (stcp_is_inherited(cq->domain->fabric))
		return -FI_EOPBADSTATE;
	n = take_entries(cq, buf, count);
	if (n != -FI_EAGAIN || !cq->domain->manual)
		return n;
	/* Look at the sockets whose completions come here. */
	pthread_mutex_lock(&cq->eps_lock);
	LIST_FOREACH(seat, &cq->eps, link)
	stcp_ep_look(seat->ep);
	pthread_mutex_unlock(&cq->eps_lock);
	return take_entries(cq, buf, count);
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count,
			   fi_addr_t *src_addr)
{
	ssize_t n = cq_read(fid, buf, count);

	for (ssize_t i = 0; src_addr && i < n; i++)
		src_addr[i] = FI_ADDR_NOTAVAIL;
	return n;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry,
			  uint64_t flags)
{
	struct stcp_cq *cq = stcp_container_of(fid, struct stcp_cq, fid);
	struct stcp_op *op;

	if (stcp_is_inherited(cq->domain->fabric))
		return -FI_EOPBADSTATE;
	pthread_mutex_lock(&cq->lock);
	op = STAILQ_FIRST(&cq->done);
	if (!op || !op->err) {
		pthread_mutex_unlock(&cq->lock);
		return -FI_EAGAIN;
	}
	STAILQ_REMOVE_HEAD(&cq->done, done_link);
	pthread_mutex_unlock(&cq->lock);
	entry->op_context = op->context;
	entry->flags = op->flags;
	entry->len = 0;
	entry->buf = NULL;
	entry->data = 0;
	entry->tag = 0;
	entry->olen = 0;
	entry->err = op->err;
	entry->prov_errno = op->prov_errno;
	/* There are none. Before 1.5 an entry ended with the pointer. */
	if (FI_VERSION_LT(cq->domain->fabric->fid.api_version,
			  FI_VERSION(1, 5)) ||
	    !entry->err_data_size)
		entry->err_data = NULL;
	else
		entry->err_data_size = 0;
	free(op);
	return 1;
}

/* Before sleeping: -FI_EINTR when that is not wanted, -FI_EAGAIN: look again. */
static int begin_wait(struct stcp_cq *cq)
{
	int rc = -FI_EAGAIN;

	pthread_mutex_lock(&cq->lock);
	if (cq->interrupted) {
		cq->interrupted = false;
		rc = -FI_EINTR;
	} else if (STAILQ_EMPTY(&cq->done) && !is_stalled_for_nothing(cq)) {
		stcp_wait_arm(&cq->wait);
		rc = 0;
	}
	pthread_mutex_unlock(&cq->lock);
	return rc;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count,
			const void *cond, int timeout)
{
	struct stcp_cq *cq = stcp_container_of(fid, struct stcp_cq, fid);
	uint64_t until_ms = stcp_wait_until(timeout);
	ssize_t n;
	int rc;

	for (;;) {
		uint64_t now_ms = stcp_now_ms();

		n = cq_read(fid, buf, count);
		if (n != -FI_EAGAIN)
			return n;
		/* What a peer moves without an end is no reason to stay. */
		if (now_ms >= until_ms)
			return -FI_EAGAIN;
		rc = begin_wait(cq);
		if (rc == -FI_EINTR)
			return -FI_EAGAIN;
		if (rc)
			continue;
		rc = stcp_wait_poll(&cq->wait, now_ms, until_ms);
		if (rc)
			return rc;
	}
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count,
			    fi_addr_t *src_addr, const void *cond, int timeout)
{
	ssize_t n = cq_sread(fid, buf, count, cond, timeout);

	for (ssize_t i = 0; src_addr && i < n; i++)
		src_addr[i] = FI_ADDR_NOTAVAIL;
	return n;
}

static int cq_signal(struct fid_cq *fid)
{
	struct stcp_cq *cq = stcp_container_of(fid, struct stcp_cq, fid);

	if (stcp_is_inherited(cq->domain->fabric))
		return -FI_EOPBADSTATE;
	pthread_mutex_lock(&cq->lock);
	cq->interrupted = true;
	stcp_wait_signal(&cq->wait);
	pthread_mutex_unlock(&cq->lock);
	return 0;
}

const char *stcp_copy_text(int prov_errno, char *buf, size_t len)
{
	const char *text = tcpw_violation_text((enum tcpw_violation)prov_errno);

	if (buf)
		snprintf(buf, len, "%s", text);
	return text;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno,
			       const void *err_data, char *buf, size_t len)
{
	return stcp_copy_text(prov_errno, buf, len);
}

void stcp_cq_add(struct stcp_cq *cq, struct stcp_op *op)
{
	pthread_mutex_lock(&cq->lock);
	STAILQ_INSERT_TAIL(&cq->done, op, done_link);
	stcp_wait_signal(&cq->wait);
	pthread_mutex_unlock(&cq->lock);
}

int stcp_cq_trywait(struct stcp_cq *cq)
{
	return begin_wait(cq) ? -FI_EAGAIN : 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct stcp_cq *cq = stcp_container_of(fid, struct stcp_cq, fid.fid);

	return stcp_wait_control(&cq->wait, command, arg);
}

static int cq_close(struct fid *fid)
{
	struct stcp_cq *cq = stcp_container_of(fid, struct stcp_cq, fid.fid);
	struct stcp_op *op;

	if (stcp_is_inherited(cq->domain->fabric)) {
		stcp_wait_fini(&cq->wait);
		return 0;
	}
	if (atomic_load(&cq->refs))
		return -FI_EBUSY;
	while ((op = STAILQ_FIRST(&cq->done))) {
		STAILQ_REMOVE_HEAD(&cq->done, done_link);
		free(op);
	}
	stcp_wait_fini(&cq->wait);
	pthread_mutex_destroy(&cq->lock);
	pthread_mutex_destroy(&cq->eps_lock);
	atomic_fetch_sub(&cq->domain->refs, 1);
	free(cq);
	return 0;
}

static struct fi_ops cq_fid_ops =
	STCP_FID_OPS(cq_close, stcp_no_bind, cq_control, stcp_no_ops_open);

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = cq_signal,
	.strerror = cq_strerror,
};

int stcp_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		 struct fid_cq **out, void *context)
{
	struct stcp_cq *cq;
	int rc;

	if (attr->format > FI_CQ_FORMAT_TAGGED)
		return -FI_ENOSYS;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->domain = stcp_container_of(domain, struct stcp_domain, fid);
	rc = stcp_wait_init(&cq->wait, attr->wait_obj, cq->domain->manual);
	if (rc) {
		free(cq);
		return rc;
	}
	stcp_fid_init(&cq->fid.fid, FI_CLASS_CQ, &cq_fid_ops, context);
	cq->fid.ops = &cq_ops;
	cq->format = attr->format ? attr->format : FI_CQ_FORMAT_CONTEXT;
	if (cq->wait.fd < 0) {
		cq->wait.ring = cq->domain->ring;
		cq->wait.ring_context = context;
	}
	atomic_fetch_add(&cq->domain->refs, 1);
	pthread_mutex_init(&cq->lock, NULL);
	pthread_mutex_init(&cq->eps_lock, NULL);
	LIST_INIT(&cq->eps);
	STAILQ_INIT(&cq->done);
	*out = &cq->fid;
	return 0;
}
