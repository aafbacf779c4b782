/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring of things that wait, in the memory of those things: the core neither
 * allocates nor has linux/list.h or sys/queue.h on both sides.
 *
 * Context: any. Locking: the caller's.
 */
#ifndef KFB_RING_H
#define KFB_RING_H

/**
 * struct kfb_ring - a ring's head, or a place in it
 * @next: the first, or the one behind
 * @prev: the last, or the one before
 *
 * A head without anything in it, and a thing that is in no ring, is linked with
 * itself.
 */
struct kfb_ring {
	struct kfb_ring *next;
	struct kfb_ring *prev;
};

/* The struct that something is a member of: a place in a ring, a port's core. */
#define kfb_container_of(member_at, type, member) \
	((type *)(void *)((char *)(member_at) -   \
			  __builtin_offsetof(type, member)))

/* What has a ring's @member as its place from the first on; @at may be taken out. */
#define kfb_ring_entry(place, at, member) \
	kfb_container_of(place, __typeof__(*(at)), member)
#define kfb_ring_for_each(at, after, head, member)                   \
	for ((at) = kfb_ring_entry((head)->next, at, member),        \
	    (after) = kfb_ring_entry((at)->member.next, at, member); \
	     &(at)->member != (head); (at) = (after),                \
	    (after) = kfb_ring_entry((at)->member.next, at, member))

static inline void kfb_ring_init(struct kfb_ring *ring)
{
	ring->next = ring;
	ring->prev = ring;
}

static inline void kfb_ring_add_last(struct kfb_ring *head,
				     struct kfb_ring *place)
{
	place->next = head;
	place->prev = head->prev;
	head->prev->next = place;
	head->prev = place;
}

static inline void kfb_ring_add_first(struct kfb_ring *head,
				      struct kfb_ring *place)
{
	kfb_ring_add_last(head->next, place);
}

/* Take out what may be in a ring; it is in none afterwards. */
static inline void kfb_ring_del(struct kfb_ring *place)
{
	place->prev->next = place->next;
	place->next->prev = place->prev;
	kfb_ring_init(place);
}

#endif
