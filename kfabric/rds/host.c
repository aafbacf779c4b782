// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rds provider: the hosts that something is sent to, and what they have got.
 *
 * RDS keeps what it has taken until the other host's RDS has it, over as many
 * connections as that needs, and does not tell. But every host answers an empty
 * datagram to its port 0 by one from there, and takes them in the order in which
 * they were sent. So a question behind messages is answered when they have
 * arrived. Answers have no number: one may have been given up, because our own
 * port was congested. The k-th answer to come is therefore taken for the k-th
 * question, although it may be a later one's; it says no more than is true.
 *
 * The first question comes before any message: a host that never answers gets
 * none. It has another reason as well: RDS may spread sockets over several
 * connections with a host, which it knows when the first of them is up, and keeps
 * the order of datagrams within each.
 *
 * This host does not answer itself where the two addresses differ, and needs not:
 * its RDS hands datagrams over at once.
 *
 * Context: the engine.
 */
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "rds.h"

static struct krds_host *krds_host_find(struct krds_ep *ep,
					const struct sockaddr_in6 *name)
{
	struct krds_host *host = ep->last_host;

	if (host && !memcmp(&host->name, name, sizeof(*name)))
		return host;
	hash_for_each_possible(ep->hosts, host, hash,
			       jhash(name, sizeof(*name), 0))
	{
		if (memcmp(&host->name, name, sizeof(*name)))
			continue;
		ep->last_host = host;
		return host;
	}
	return NULL;
}

/* NULL: there is no memory. */
struct krds_host *krds_host_get(struct krds_ep *ep,
				const struct sockaddr_in6 *to)
{
	struct sockaddr_in6 name = *to;
	struct krds_host *host;

	name.sin6_port = 0;
	host = krds_host_find(ep, &name);
	if (host)
		return host;
	host = kzalloc(sizeof(*host), GFP_KERNEL);
	if (!host)
		return NULL;
	host->name = name;
	INIT_LIST_HEAD(&host->busy);
	INIT_LIST_HEAD(&host->sends);
	INIT_LIST_HEAD(&host->handed);
	hash_add(ep->hosts, &host->hash, jhash(&name, sizeof(name), 0));
	return host;
}

void krds_host_busy(struct krds_ep *ep, struct krds_host *host)
{
	if (!list_empty(&host->busy))
		return;
	/* Addresses come and go: whose it is may have changed when it was idle. */
	if (!host->looked_at || time_after_eq(jiffies, host->looked_at + HZ)) {
		host->looked_at = jiffies;
		host->local = krds_is_local(
			ep->base.post.ep.domain->fabric->net, &host->name);
	}
	list_add_tail(&host->busy, &ep->busy);
}

/* Questions that may never go out keep no memory of RDS's. */
static void krds_stop_asking(struct krds_ep *ep, struct krds_host *host)
{
	krds_socket_forget(ep, &host->name);
	host->up = false;
	host->asked = false;
	host->questions = 0;
	host->answers = 0;
}

void krds_host_idle(struct krds_ep *ep, struct krds_host *host)
{
	if (host->asked && !host->up)
		krds_stop_asking(ep, host);
	list_del_init(&host->busy);
}

/* ---- questions ----------------------------------------------------------- */

void krds_ask(struct krds_ep *ep, struct krds_host *host)
{
	bool wanted = !list_empty(&host->handed) ||
		      (!host->up && !list_empty(&host->sends));
	const struct fi_buf nothing = {};

	if (host->local || !wanted)
		return;
	if (host->asked &&
	    time_before(jiffies,
			host->asked_at + msecs_to_jiffies(KRDS_ASK_AGAIN_MS)))
		return;
	if (kfi_socket_send(&ep->base, &host->name, &nothing))
		return;
	host->questions++;
	host->asked = true;
	host->asked_at = jiffies;
}

void krds_answered(struct krds_ep *ep, const struct sockaddr_in6 *from)
{
	struct krds_host *host = krds_host_find(ep, from);
	struct krds_op *op, *next;

	/* Who was not asked may answer as it likes. */
	if (!host || !host->asked)
		return;
	host->asked = false;
	host->up = true;
	host->heard_at = jiffies;
	if (host->answers < host->questions)
		host->answers++;
	list_for_each_entry_safe(op, next, &host->handed, base.node) {
		if (op->question > host->answers)
			break;
		krds_finish(ep, op, 0, 0);
	}
	/* Whatever was not answered: nobody waits for it. */
	if (list_empty(&host->handed))
		host->answers = host->questions;
}

/* ---- time-outs ----------------------------------------------------------- */

/* Cancellations and deadlines. */
void krds_host_check(struct krds_ep *ep, struct krds_host *host)
{
	u32 ms = READ_ONCE(ep->base.post.ep.op_timeout_ms);
	struct krds_op *op, *next;

	list_for_each_entry_safe(op, next, &host->sends, base.node)
		if (kfi_send_is_canceled(&op->send) ||
		    time_after(jiffies, op->deadline))
			krds_finish(ep, op,
				    !host->up && !host->local ? FI_EHOSTUNREACH
				    : op->why == ENOMEM	      ? FI_ENOMEM
							      : FI_ENOBUFS,
				    0);
	op = list_first_entry_or_null(&host->handed, struct krds_op, base.node);
	if (!op || !time_after(jiffies, op->deadline) ||
	    !time_after(jiffies, host->heard_at + msecs_to_jiffies(ms)))
		return;
	/* What was handed over will not be acknowledged. It may have arrived. */
	list_for_each_entry_safe(op, next, &host->handed, base.node) {
		krds_socket_forget(ep, &op->to);
		/* Nobody can know while our own messages are in the way. */
		krds_finish(ep, op, ep->clogged ? FI_ENOBUFS : FI_EHOSTUNREACH,
			    ETIMEDOUT);
	}
	krds_stop_asking(ep, host);
}
