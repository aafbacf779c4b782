// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: datagram endpoints: whom an endpoint knows: how to send to a name, and
 * which name has sent.
 *
 * A peer comes into the table when it is asked, or when it asks and the endpoint's
 * address vector has its name. Of KFIV_PEERS_MAX the one that was not used for the
 * longest time goes when another one comes; it is asked again when it is sent to.
 *
 * Context: posting, but for what makes a peer and buries address handles: process.
 * Locking: dgram->lock.
 */
#include <linux/jhash.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dgram.h"

/* ---- address handles ------------------------------------------------------------ */

/* In the connection manager's handler. Returns an ERR_PTR() on failure. */
struct kfiv_ah *kfiv_ah_new(struct kfiv_dgram *dgram,
			    struct rdma_ud_param *answer)
{
	unsigned int noio = memalloc_noio_save();
	struct kfiv_ah *ah = kzalloc(sizeof(*ah), GFP_KERNEL);
	struct ib_ah *ib = ERR_PTR(-ENOMEM);

	if (ah)
		ib = rdma_create_ah(dgram->ep->domain->pd, &answer->ah_attr,
				    RDMA_CREATE_AH_SLEEPABLE);
	memalloc_noio_restore(noio);
	if (IS_ERR(ib)) {
		kfree(ah);
		return ERR_CAST(ib);
	}
	refcount_set(&ah->refs, 1);
	ah->ib = ib;
	ah->qpn = answer->qp_num;
	ah->qkey = answer->qkey;
	ah->dgram = dgram;
	return ah;
}

/* Those that nobody has any more; a device may sleep over that. */
void kfiv_ah_bury(struct kfiv_dgram *dgram)
{
	struct llist_node *dead = llist_del_all(&dgram->dead);
	struct kfiv_ah *ah, *next;

	llist_for_each_entry_safe(ah, next, dead, node)
	{
		rdma_destroy_ah(ah->ib, RDMA_DESTROY_AH_SLEEPABLE);
		kfree(ah);
	}
}

void kfiv_ah_bury_work(struct work_struct *work)
{
	kfiv_ah_bury(container_of(work, struct kfiv_dgram, dead_work));
}

/* Whatever is put before the hardware is freed is buried with it at the latest. */
void kfiv_ah_put(struct kfiv_ah *ah)
{
	struct kfiv_dgram *dgram = ah->dgram;

	if (!refcount_dec_and_test(&ah->refs))
		return;
	llist_add(&ah->node, &dgram->dead);
	if (!READ_ONCE(dgram->closed))
		queue_work(kfiv_wq, &dgram->dead_work);
}

/* ---- the table ------------------------------------------------------------------ */

static u32 kfiv_name_hash(const struct sockaddr_in6 *name)
{
	return jhash(name, sizeof(*name), 0);
}

static u32 kfiv_source_hash(const struct kfiv_source *source)
{
	return jhash(&source->gid, sizeof(source->gid), source->qpn);
}

static bool kfiv_same_source(const struct kfiv_source *a,
			     const struct kfiv_source *b)
{
	return a->qpn == b->qpn && !memcmp(&a->gid, &b->gid, sizeof(a->gid));
}

static struct kfiv_peer *kfiv_peer_find_locked(struct kfiv_dgram *dgram,
					       const struct sockaddr_in6 *name)
{
	struct kfiv_peer *peer;

	lockdep_assert_held(&dgram->lock);
	hash_for_each_possible(
		dgram->by_name, peer, by_name,
		kfiv_name_hash(name)) if (!memcmp(&peer->name, name,
						  sizeof(*name))) return peer;
	return NULL;
}

/* What is found next is the one that was set last. */
static void kfiv_peer_source_locked(struct kfiv_dgram *dgram,
				    struct kfiv_peer *peer,
				    const struct kfiv_source *source)
{
	lockdep_assert_held(&dgram->lock);
	if (peer->known)
		hash_del(&peer->by_source);
	peer->known = true;
	peer->source = *source;
	hash_add(dgram->by_source, &peer->by_source, kfiv_source_hash(source));
}

static void kfiv_peer_del_locked(struct kfiv_dgram *dgram,
				 struct kfiv_peer *peer)
{
	lockdep_assert_held(&dgram->lock);
	hash_del(&peer->by_name);
	if (peer->known)
		hash_del(&peer->by_source);
	list_del(&peer->lru);
	list_del(&peer->stale);
	dgram->nr_peers--;
	if (peer->ah)
		kfiv_ah_put(peer->ah);
	kfree(peer);
}

/* The peer of a name; if there is none it becomes *new, which is NULL then. */
static struct kfiv_peer *kfiv_peer_get_locked(struct kfiv_dgram *dgram,
					      const struct sockaddr_in6 *name,
					      struct kfiv_peer **new)
{
	struct kfiv_peer *peer = kfiv_peer_find_locked(dgram, name);

	if (peer)
		return peer;
	if (dgram->nr_peers >= KFIV_PEERS_MAX)
		list_for_each_entry(peer, &dgram->peers, lru)
			if (!peer->asking) {
				kfiv_peer_del_locked(dgram, peer);
				break;
			}
	peer = *new;
	*new = NULL;
	peer->name = *name;
	INIT_LIST_HEAD(&peer->stale);
	hash_add(dgram->by_name, &peer->by_name, kfiv_name_hash(name));
	list_add_tail(&peer->lru, &dgram->peers);
	dgram->nr_peers++;
	return peer;
}

void kfiv_peers_free(struct kfiv_dgram *dgram)
{
	struct kfiv_peer *peer, *next;

	spin_lock_irq(&dgram->lock);
	list_for_each_entry_safe(peer, next, &dgram->peers, lru)
		kfiv_peer_del_locked(dgram, peer);
	spin_unlock_irq(&dgram->lock);
}

/* ---- how to send ---------------------------------------------------------------- */

static void kfiv_peer_doubt_locked(struct kfiv_dgram *dgram,
				   struct kfiv_peer *peer)
{
	lockdep_assert_held(&dgram->lock);
	if (peer->asking)
		return;
	if (list_empty(&peer->stale))
		list_add_tail(&peer->stale, &dgram->stale);
	/* Of one in the list, too: there may have been no memory for its question. */
	kfiv_dgram_kick(dgram);
}

/*
 * How to send to a name, with a reference; or NULL, and whether it is being asked. What
 * was answered a while ago is used once more, and asked meanwhile.
 */
struct kfiv_ah *kfiv_peer_ah(struct kfiv_dgram *dgram,
			     const struct sockaddr_in6 *name, bool *asking)
{
	struct kfiv_ah *ah = NULL;
	struct kfiv_peer *peer;
	unsigned long irq;

	*asking = false;
	spin_lock_irqsave(&dgram->lock, irq);
	peer = kfiv_peer_find_locked(dgram, name);
	if (peer) {
		list_move_tail(&peer->lru, &dgram->peers);
		*asking = peer->asking;
		ah = peer->ah;
	}
	if (ah) {
		refcount_inc(&ah->refs);
		if (time_after(jiffies, peer->fresh))
			kfiv_peer_doubt_locked(dgram, peer);
	}
	spin_unlock_irqrestore(&dgram->lock, irq);
	return ah;
}

/*
 * A question is to be asked: 0, and ask is in the list; -EALREADY it is under way;
 * -EBUSY too many are; -ENOMEM; -ECONNABORTED the endpoint closes.
 */
int kfiv_peer_ask(struct kfiv_dgram *dgram, const struct sockaddr_in6 *name,
		  struct list_head *ask)
{
	struct kfiv_peer *new = kzalloc(sizeof(*new), GFP_KERNEL);
	struct kfiv_peer *peer;
	int ret = 0;

	if (!new)
		return -ENOMEM;
	spin_lock_irq(&dgram->lock);
	if (dgram->closed) {
		ret = -ECONNABORTED;
	} else if (dgram->nr_asks == KFIV_ASKS_MAX) {
		ret = -EBUSY;
	} else {
		peer = kfiv_peer_get_locked(dgram, name, &new);
		list_del_init(&peer->stale);
		if (peer->asking)
			ret = -EALREADY;
		peer->asking = true;
	}
	if (!ret) {
		dgram->nr_asks++;
		list_add_tail(ask, &dgram->asks);
	}
	spin_unlock_irq(&dgram->lock);
	kfree(new);
	return ret;
}

bool kfiv_peer_next_stale(struct kfiv_dgram *dgram, struct sockaddr_in6 *name)
{
	struct kfiv_peer *peer;

	spin_lock_irq(&dgram->lock);
	peer = list_first_entry_or_null(&dgram->stale, struct kfiv_peer, stale);
	if (peer)
		*name = peer->name;
	spin_unlock_irq(&dgram->lock);
	return peer;
}

/*
 * A question is over. On success ah is the table's from here on. Who listens no more
 * has said so, and is forgotten; what was lost on the way says nothing about the peer.
 */
void kfiv_peer_answered(struct kfiv_dgram *dgram,
			const struct sockaddr_in6 *name, int result,
			struct kfiv_ah *ah, const struct kfiv_source *source)
{
	struct kfiv_ah *old = NULL;
	struct kfiv_peer *peer;

	spin_lock_irq(&dgram->lock);
	peer = kfiv_peer_find_locked(dgram, name);
	peer->asking = false;
	peer->fresh = jiffies + msecs_to_jiffies(KFIV_FRESH_MS);
	if (!result) {
		old = peer->ah;
		peer->ah = ah;
		kfiv_peer_source_locked(dgram, peer, source);
	} else if (result == -ECONNREFUSED || (!peer->ah && !peer->known)) {
		kfiv_peer_del_locked(dgram, peer);
	}
	spin_unlock_irq(&dgram->lock);
	if (old)
		kfiv_ah_put(old);
}

/* ---- who has sent --------------------------------------------------------------- */

/*
 * A name says where its datagrams come from. Nobody would be told of one that the vector
 * does not have, so that the table is no place for strangers. A peer that comes from
 * elsewhere than it has answered was born anew, or somebody else took its name: its
 * answer will tell.
 */
void kfiv_peer_learn(struct kfiv_dgram *dgram, const struct sockaddr_in6 *name,
		     const struct kfiv_source *source)
{
	struct kfiv_peer *new = kzalloc(sizeof(*new), GFP_KERNEL), *peer;

	if (!new)
		return; /* it will ask again */
	spin_lock_irq(&dgram->lock);
	/* An endpoint that closes has a vector no longer. */
	if (dgram->closed ||
	    kfi_av_find_again(dgram->ep->ep.av, name, FI_ADDR_UNSPEC) ==
		    FI_ADDR_UNSPEC)
		goto unlock;
	peer = kfiv_peer_get_locked(dgram, name, &new);
	if (!peer->ah)
		kfiv_peer_source_locked(dgram, peer, source);
	else if (!kfiv_same_source(&peer->source, source))
		kfiv_peer_doubt_locked(dgram, peer);
unlock:
	spin_unlock_irq(&dgram->lock);
	kfree(new);
}

bool kfiv_peer_name(struct kfiv_dgram *dgram, const struct kfiv_source *source,
		    struct sockaddr_in6 *name)
{
	struct kfiv_peer *peer;
	unsigned long irq;
	bool found = false;

	spin_lock_irqsave(&dgram->lock, irq);
	hash_for_each_possible(
		dgram->by_source, peer, by_source,
		kfiv_source_hash(source)) if (kfiv_same_source(&peer->source,
							       source))
	{
		*name = peer->name;
		found = true;
		break;
	}
	spin_unlock_irqrestore(&dgram->lock, irq);
	return found;
}
