/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists. */
#ifndef SIM_LINUX_LIST_H
#define SIM_LINUX_LIST_H

#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/types.h>

#undef LIST_HEAD /* sys/queue.h has one, too */
#define LIST_HEAD_INIT(name)     \
	{                        \
		&(name), &(name) \
	}
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

static inline void list_insert(struct list_head *node, struct list_head *prev,
			       struct list_head *next)
{
	next->prev = node;
	node->next = next;
	node->prev = prev;
	prev->next = node;
}

static inline void list_add(struct list_head *node, struct list_head *list)
{
	list_insert(node, list, list->next);
}

static inline void list_add_tail(struct list_head *node, struct list_head *list)
{
	list_insert(node, list->prev, list);
}

static inline void list_unlink(struct list_head *node)
{
	node->next->prev = node->prev;
	node->prev->next = node->next;
}

/* Whoever uses it afterwards is seen to. */
static inline void list_del(struct list_head *node)
{
	list_unlink(node);
	node->next = NULL;
	node->prev = NULL;
}

static inline void list_del_init(struct list_head *node)
{
	list_unlink(node);
	INIT_LIST_HEAD(node);
}

static inline bool list_empty(const struct list_head *list)
{
	return list->next == list;
}

static inline void list_move_tail(struct list_head *node,
				  struct list_head *list)
{
	list_unlink(node);
	list_add_tail(node, list);
}

/* All of @from to the head of @to. */
static inline void list_splice_init(struct list_head *from,
				    struct list_head *to)
{
	if (list_empty(from))
		return;
	from->next->prev = to;
	from->prev->next = to->next;
	to->next->prev = from->prev;
	to->next = from->next;
	INIT_LIST_HEAD(from);
}

static inline void list_splice_tail_init(struct list_head *from,
					 struct list_head *to)
{
	list_splice_init(from, to->prev);
}

#define list_entry(ptr, type, member) container_of(ptr, type, member)
#define list_first_entry(ptr, type, member) \
	list_entry((ptr)->next, type, member)
#define list_first_entry_or_null(ptr, type, member) \
	(list_empty(ptr) ? NULL : list_first_entry(ptr, type, member))
#define list_next_entry(pos, member) \
	list_entry((pos)->member.next, typeof(*(pos)), member)
#define list_for_each_entry(pos, head, member)                       \
	for ((pos) = list_first_entry(head, typeof(*(pos)), member); \
	     &(pos)->member != (head); (pos) = list_next_entry(pos, member))
#define list_for_each_entry_safe(pos, n, head, member)               \
	for ((pos) = list_first_entry(head, typeof(*(pos)), member), \
	    (n) = list_next_entry(pos, member);                      \
	     &(pos)->member != (head);                               \
	     (pos) = (n), (n) = list_next_entry(n, member))

#endif
