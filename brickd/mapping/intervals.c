// SPDX-License-Identifier: BSD-2-Clause
/*
 * A treap: a tree by the first block, a heap by priorities that nobody can guess,
 * so that nobody can make it deep.
 */
#include "brickd/mapping/intervals.h"

#include <sodium.h>
#include <stddef.h>

static bool is_of(const struct brick_interval *i, enum brick_interval_class of)
{
	return i->classes >> of & 1;
}

/* Those that begin at one block are in the order of their places in memory. */
static bool is_before(const struct brick_interval *a,
		      const struct brick_interval *b)
{
	if (a->span.first != b->span.first)
		return a->span.first < b->span.first;
	return (uintptr_t)a < (uintptr_t)b;
}

static void refresh_ends(struct brick_interval *i)
{
	for (int of = 0; of < BRICK_INTERVALS_CLASSES; of++) {
		uint64_t end = is_of(i, of) ? i->span.end : 0;

		if (i->left && i->left->end[of] > end)
			end = i->left->end[of];
		if (i->right && i->right->end[of] > end)
			end = i->right->end[of];
		i->end[of] = end;
	}
}

/* ---- coming and going ---------------------------------------------------- */

/* What is before an interval goes to one tree, what is behind it to another. */
static void split_tree(struct brick_interval *root,
		       const struct brick_interval *at,
		       struct brick_interval **before,
		       struct brick_interval **behind)
{
	if (!root) {
		*before = NULL;
		*behind = NULL;
		return;
	}
	if (is_before(root, at)) {
		*before = root;
		split_tree(root->right, at, &root->right, behind);
	} else {
		*behind = root;
		split_tree(root->left, at, before, &root->left);
	}
	refresh_ends(root);
}

/* All of the first tree is before all of the second one. */
static struct brick_interval *join_trees(struct brick_interval *before,
					 struct brick_interval *behind)
{
	struct brick_interval *root;

	if (!before || !behind)
		return before ? before : behind;
	if (before->priority > behind->priority) {
		root = before;
		root->right = join_trees(root->right, behind);
	} else {
		root = behind;
		root->left = join_trees(before, root->left);
	}
	refresh_ends(root);
	return root;
}

static struct brick_interval *add_below(struct brick_interval *root,
					struct brick_interval *i)
{
	if (!root || i->priority > root->priority) {
		split_tree(root, i, &i->left, &i->right);
		root = i;
	} else if (is_before(i, root)) {
		root->left = add_below(root->left, i);
	} else {
		root->right = add_below(root->right, i);
	}
	refresh_ends(root);
	return root;
}

static struct brick_interval *del_below(struct brick_interval *root,
					const struct brick_interval *i)
{
	if (root == i)
		return join_trees(root->left, root->right);
	if (is_before(i, root))
		root->left = del_below(root->left, i);
	else
		root->right = del_below(root->right, i);
	refresh_ends(root);
	return root;
}

void brick_intervals_add(struct brick_intervals *all, struct brick_interval *i)
{
	i->priority = randombytes_random();
	all->root = add_below(all->root, i);
}

void brick_intervals_del(struct brick_intervals *all, struct brick_interval *i)
{
	all->root = del_below(all->root, i);
}

/* ---- looking ------------------------------------------------------------- */

uint64_t brick_intervals_end(const struct brick_intervals *all,
			     enum brick_interval_class of, uint64_t block)
{
	const struct brick_interval *i = all->root;
	uint64_t end = 0;

	while (i) {
		if (i->span.first >= block) {
			i = i->left;
			continue;
		}
		if (is_of(i, of) && i->span.end > end)
			end = i->span.end;
		if (i->left && i->left->end[of] > end)
			end = i->left->end[of];
		i = i->right;
	}
	return end;
}

static uint64_t next_below(const struct brick_interval *i,
			   enum brick_interval_class of, uint64_t block)
{
	uint64_t first;

	/* None of the class is here. */
	if (!i || !i->end[of])
		return UINT64_MAX;
	if (i->span.first < block)
		return next_below(i->right, of, block);
	first = next_below(i->left, of, block);
	if (first != UINT64_MAX)
		return first;
	return is_of(i, of) ? i->span.first : next_below(i->right, of, block);
}

uint64_t brick_intervals_next(const struct brick_intervals *all,
			      enum brick_interval_class of, uint64_t block)
{
	return next_below(all->root, of, block);
}

/* What is looked for, and who is told. */
struct search {
	enum brick_interval_class of;
	struct brick_span span;
	bool (*visit)(const struct brick_interval *found, void *arg);
	void *arg;
};

static bool visit_below(const struct brick_interval *i, const struct search *s)
{
	if (!i || i->end[s->of] <= s->span.first)
		return true;
	if (!visit_below(i->left, s))
		return false;
	if (i->span.first >= s->span.end)
		return true;
	if (is_of(i, s->of) && i->span.end > s->span.first &&
	    !s->visit(i, s->arg))
		return false;
	return visit_below(i->right, s);
}

void brick_intervals_overlap(
	const struct brick_intervals *all, enum brick_interval_class of,
	struct brick_span span,
	bool (*visit)(const struct brick_interval *found, void *arg), void *arg)
{
	const struct search search = { of, span, visit, arg };

	(void)visit_below(all->root, &search);
}
