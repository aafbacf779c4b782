// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: address vectors.
 *
 * Context: what changes a vector sleeps; posts look numbers up.
 * Locking: av->mutex of those who change it, over av->lock, which protects the
 *	table; irq-safe, a leaf. Who has the mutex may read without the lock.
 * Lifetime: an endpoint pins the vector that it is bound to.
 */
#include <linux/export.h>
#include <linux/in.h>
#include <linux/jhash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include <kfabric/kfi_av.h>

#include "core.h"

#define KFI_AV_NONE  U32_MAX
#define KFI_AV_FIRST 16 /* places when nobody says how many */

/* ---- addresses --------------------------------------------------------- */

bool kfi_name_set(struct sockaddr_in6 *to, const void *addr)
{
	const struct sockaddr_in6 *v6 = addr;
	struct sockaddr_in *v4 = (void *)to;

	memset(to, 0, sizeof(*to));
	if (v6->sin6_family == AF_INET) {
		*v4 = *(const struct sockaddr_in *)addr;
		memset(v4->sin_zero, 0, sizeof(v4->sin_zero));
	} else if (v6->sin6_family != AF_INET6) {
		return false;
	} else if (ipv6_addr_v4mapped(&v6->sin6_addr)) {
		v4->sin_family = AF_INET;
		v4->sin_port = v6->sin6_port;
		v4->sin_addr.s_addr = v6->sin6_addr.s6_addr32[3];
	} else {
		*to = *v6;
		to->sin6_flowinfo = 0;
	}
	return true;
}
EXPORT_SYMBOL_GPL(kfi_name_set);

const char *kfabric_av_straddr(const void *addr, char *buf, size_t *len)
{
	*len = snprintf(buf, *len, "%pISpc", addr) + 1;
	return buf;
}
EXPORT_SYMBOL_GPL(kfabric_av_straddr);

/* ---- the table --------------------------------------------------------- */

static u32 *kfi_av_chain(u32 *heads, u32 capacity,
			 const struct sockaddr_in6 *name)
{
	return &heads[jhash(name, sizeof(*name), 0) & (capacity - 1)];
}

static u32 *kfi_av_chain_locked(struct fid_av *av,
				const struct sockaddr_in6 *name)
{
	lockdep_assert_held(&av->lock);
	return kfi_av_chain(av->heads, av->capacity, name);
}

static u32 kfi_av_find_locked(struct fid_av *av,
			      const struct sockaddr_in6 *name)
{
	u32 i;

	for (i = *kfi_av_chain_locked(av, name); i != KFI_AV_NONE;
	     i = av->slots[i].next)
		if (!memcmp(&av->slots[i].name, name, sizeof(*name)))
			break;
	return i;
}

static fi_addr_t kfi_av_number(const struct fid_av *av, u32 i)
{
	return (u64)av->slots[i].used << 32 | i;
}

/* The bits of a number that name no receive context. */
static fi_addr_t kfi_av_mask(const struct fid_av *av)
{
	return ~0ULL >> av->rx_ctx_bits;
}

/* The place that a number of the first receive context means, or NULL. */
static struct kfi_av_slot *kfi_av_slot_locked(struct fid_av *av,
					      fi_addr_t fi_addr)
{
	u32 i = (u32)fi_addr;

	lockdep_assert_held(&av->lock);
	if (i >= av->capacity || !av->slots[i].refs ||
	    av->slots[i].used != fi_addr >> 32)
		return NULL;
	return &av->slots[i];
}

static void kfi_av_chain_up(struct kfi_av_slot *slots, u32 i, u32 *head)
{
	slots[i].next = *head;
	*head = i;
}

/*
 * More places; those that were there keep their numbers. Posts look names up
 * meanwhile, and nobody else changes the table.
 */
static int kfi_av_grow(struct fid_av *av, u32 capacity)
{
	struct kfi_av_slot *slots;
	u32 i, old = av->capacity, free = av->free, *heads;

	if (capacity > KFI_AV_MAX)
		return -ENOSPC;
	slots = kvcalloc(capacity, sizeof(*slots), GFP_KERNEL);
	heads = kvmalloc_array(capacity, sizeof(*heads), GFP_KERNEL);
	if (!slots || !heads) {
		kvfree(slots);
		kvfree(heads);
		return -ENOMEM;
	}
	memset32(heads, KFI_AV_NONE, capacity);
	if (old)
		memcpy(slots, av->slots, old * sizeof(*slots));
	for (i = 0; i < old; i++)
		if (slots[i].refs)
			kfi_av_chain_up(slots, i,
					kfi_av_chain(heads, capacity,
						     &slots[i].name));
	for (i = capacity; i-- > old;)
		kfi_av_chain_up(slots, i, &free);
	spin_lock_irq(&av->lock);
	swap(av->slots, slots);
	swap(av->heads, heads);
	av->capacity = capacity;
	av->free = free;
	spin_unlock_irq(&av->lock);
	kvfree(slots);
	kvfree(heads);
	return 0;
}

/* ---- for upper layers -------------------------------------------------- */

static int kfi_av_insert_name(struct fid_av *av,
			      const struct sockaddr_in6 *name,
			      fi_addr_t *fi_addr)
{
	int ret = 0;
	u32 i;

	mutex_lock(&av->mutex);
	if (av->free == KFI_AV_NONE)
		ret = kfi_av_grow(av, av->capacity * 2);
	spin_lock_irq(&av->lock);
	i = kfi_av_find_locked(av, name);
	if (i != KFI_AV_NONE) {
		/* This one needs no place. */
		ret = av->slots[i].refs == U32_MAX ? -ENOSPC : 0;
	} else if (!ret) {
		i = av->free;
		av->free = av->slots[i].next;
		av->slots[i].name = *name;
		kfi_av_chain_up(av->slots, i, kfi_av_chain_locked(av, name));
	}
	if (!ret) {
		av->slots[i].refs++;
		*fi_addr = kfi_av_number(av, i);
	}
	spin_unlock_irq(&av->lock);
	mutex_unlock(&av->mutex);
	return ret;
}

int kfabric_av_insert(struct fid_av *av, const void *addr, size_t count,
		      fi_addr_t *fi_addr)
{
	struct sockaddr_in6 name;
	int inserted = 0;
	size_t i;

	might_sleep();
	if (READ_ONCE(av->fid.dead))
		return -ENODEV;
	for (i = 0; i < count; i++)
		fi_addr[i] = FI_ADDR_UNSPEC;
	for (i = 0; i < count && kfi_name_set(&name, addr); i++) {
		if (name.sin6_port &&
		    !kfi_av_insert_name(av, &name, &fi_addr[i]))
			inserted++;
		addr += kfi_addr_len(addr);
	}
	return inserted;
}
EXPORT_SYMBOL_GPL(kfabric_av_insert);

int kfabric_av_insertsvc(struct fid_av *av, const char *node,
			 const char *service, fi_addr_t *fi_addr)
{
	struct sockaddr_in6 name;
	struct fi_info *info;
	int ret;

	might_sleep();
	if (READ_ONCE(av->fid.dead))
		return -ENODEV;
	if (!service)
		return -EINVAL;
	info = fi_allocinfo();
	if (!info)
		return -ENOMEM;
	ret = kfi_resolve(node, service, 0, NULL, info);
	if (!ret && (!kfi_name_set(&name, info->dest_addr) || !name.sin6_port))
		ret = -EINVAL;
	fi_freeinfo(info);
	ret = ret ?: kfi_av_insert_name(av, &name, fi_addr);
	return ret ?: 1;
}
EXPORT_SYMBOL_GPL(kfabric_av_insertsvc);

static int kfi_av_remove_one(struct fid_av *av, fi_addr_t fi_addr)
{
	struct kfi_av_slot *slot;
	int ret = 0;
	u32 *at;

	mutex_lock(&av->mutex);
	spin_lock_irq(&av->lock);
	slot = kfi_av_slot_locked(av, fi_addr);
	if (!slot) {
		ret = -EINVAL;
	} else if (!--slot->refs) {
		at = kfi_av_chain_locked(av, &slot->name);
		while (*at != (u32)fi_addr)
			at = &av->slots[*at].next;
		*at = slot->next;
		slot->used = (slot->used + 1) & kfi_av_mask(av) >> 32;
		kfi_av_chain_up(av->slots, (u32)fi_addr, &av->free);
	}
	spin_unlock_irq(&av->lock);
	mutex_unlock(&av->mutex);
	return ret;
}

int kfabric_av_remove(struct fid_av *av, const fi_addr_t *fi_addr, size_t count)
{
	int ret = 0;
	size_t i;

	might_sleep();
	for (i = 0; i < count && !ret; i++)
		ret = kfi_av_remove_one(av, fi_addr[i]);
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_av_remove);

int kfabric_av_lookup(struct fid_av *av, fi_addr_t fi_addr, void *addr,
		      size_t *addrlen)
{
	struct sockaddr_in6 name;

	return kfi_av_name(av, fi_addr & kfi_av_mask(av), &name)
		       ? kfi_copy_addr(&name, addr, addrlen)
		       : -EINVAL;
}
EXPORT_SYMBOL_GPL(kfabric_av_lookup);

/* ---- for providers ----------------------------------------------------- */

bool kfi_av_name(struct fid_av *av, fi_addr_t fi_addr,
		 struct sockaddr_in6 *name)
{
	struct kfi_av_slot *slot;
	unsigned long irq;

	spin_lock_irqsave(&av->lock, irq);
	slot = kfi_av_slot_locked(av, fi_addr);
	if (slot)
		*name = slot->name;
	spin_unlock_irqrestore(&av->lock, irq);
	return slot;
}
EXPORT_SYMBOL_GPL(kfi_av_name);

bool kfi_av_name_ctx(struct fid_av *av, fi_addr_t fi_addr,
		     struct sockaddr_in6 *name, u8 *ctx)
{
	*ctx = av->rx_ctx_bits ? fi_addr >> (64 - av->rx_ctx_bits) : 0;
	return kfi_av_name(av, fi_addr & kfi_av_mask(av), name);
}
EXPORT_SYMBOL_GPL(kfi_av_name_ctx);

fi_addr_t kfi_av_find_again(struct fid_av *av, const struct sockaddr_in6 *name,
			    fi_addr_t last)
{
	fi_addr_t fi_addr = last;
	struct kfi_av_slot *slot;
	unsigned long irq;
	u32 i;

	spin_lock_irqsave(&av->lock, irq);
	slot = kfi_av_slot_locked(av, last);
	if (!slot || memcmp(&slot->name, name, sizeof(*name))) {
		i = kfi_av_find_locked(av, name);
		fi_addr = i == KFI_AV_NONE ? FI_ADDR_UNSPEC
					   : kfi_av_number(av, i);
	}
	spin_unlock_irqrestore(&av->lock, irq);
	return fi_addr;
}
EXPORT_SYMBOL_GPL(kfi_av_find_again);

static void kfi_av_release(struct kfid *fid)
{
	struct fid_av *av = container_of(fid, struct fid_av, fid);

	kvfree(av->slots);
	kvfree(av->heads);
	kfree(av);
}

static const struct fi_ops kfi_av_ops = {
	.size = sizeof(struct fi_ops),
	.release = kfi_av_release,
};

int kfi_plain_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
		      struct fid_av **av, void *context)
{
	size_t count = attr && attr->count ? attr->count : KFI_AV_FIRST;
	u32 bits = attr ? attr->rx_ctx_bits : 0;
	struct fid_av *new;
	int ret;

	if (count > KFI_AV_MAX || bits > KFI_AV_RX_CTX_BITS_MAX)
		return -EINVAL;
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	mutex_init(&new->mutex);
	spin_lock_init(&new->lock);
	new->domain = domain;
	new->rx_ctx_bits = bits;
	new->free = KFI_AV_NONE;
	ret = kfi_av_grow(new, roundup_pow_of_two(count));
	if (!ret)
		ret = kfi_obj_init(&new->fid, FI_CLASS_AV, domain->fid.prov,
				   &domain->fid, &kfi_av_ops, context);
	if (ret)
		kfi_av_release(&new->fid);
	else
		*av = new;
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_plain_av_open);
