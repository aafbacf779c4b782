// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What it means that a brick refuses a request. */
#include <linux/errno.h>
#include <linux/string.h>

#include "kfb_err.h"
#include "session/kfb_refusal.h"

#define KFB_OF(op)	 (1U << KFB_OP_##op)
#define KFB_OF_SPACE	 (KFB_OF(ALLOC) | KFB_OF(FREE))
#define KFB_OF_CLIENTS	 (KFB_OF(FENCE) | KFB_OF(CLIENT))
#define KFB_OF_RESERVING (KFB_OF(RESERVE) | KFB_OF(RESERVATION))
#define KFB_OF_ANY	 (~0U)

/* ---- another try ---------------------------------------------------------- */

/**
 * struct kfb_passing - an error for which another try may go better
 * @ops: KFB_OF() each of them
 * @error: a negative errno
 * @who: the least patient one who tries again
 */
struct kfb_passing {
	__u32 ops;
	int error;
	enum kfb_patience who;
};

static const struct kfb_passing kfb_passing[] = {
	/* The brick waits for clients that have to give blocks back first. */
	{ KFB_OF(MAP), -EAGAIN, KFB_PATIENCE_CALLER },
	{ KFB_OF(MAP), -ESHUTDOWN, KFB_PATIENCE_DISK },
	{ KFB_OF(MAP), -ETIMEDOUT, KFB_PATIENCE_DISK },
	/* It may not have noticed the loss yet. */
	{ KFB_OF(MAP), -EBUSY, KFB_PATIENCE_RESTORE },
	/* Other clients are asked to give back what is short. */
	{ KFB_OF(MAP), -ENOMEM, KFB_PATIENCE_RESTORE },
	{ KFB_OF(MAP), -ENOSPC, KFB_PATIENCE_RESTORE },

	/* All is as it was, or may be. */
	{ KFB_OF(UNMAP), -EAGAIN, KFB_PATIENCE_CALLER },
	{ KFB_OF(UNMAP), -ENOMEM, KFB_PATIENCE_CALLER },
	{ KFB_OF(UNMAP), -ETIMEDOUT, KFB_PATIENCE_CALLER },

	/* What was written is as it was. */
	{ KFB_OF(FLUSH), -EAGAIN, KFB_PATIENCE_DISK },
	{ KFB_OF(FLUSH), -EBUSY, KFB_PATIENCE_DISK },
	{ KFB_OF(FLUSH), -ENOMEM, KFB_PATIENCE_DISK },

	{ KFB_OF_SPACE, -EAGAIN, KFB_PATIENCE_DISK },
	{ KFB_OF_SPACE, -ESHUTDOWN, KFB_PATIENCE_DISK },
	{ KFB_OF_SPACE, -ETIMEDOUT, KFB_PATIENCE_DISK },
};

static __u32 kfb_refusal_of(__u16 op)
{
	return op <= KFB_OP_LAST ? 1U << op : 0;
}

_Bool kfb_refusal_may_pass(__u16 op, int error, enum kfb_patience who)
{
	const struct kfb_passing *p = kfb_passing;
	const struct kfb_passing *end = p + sizeof(kfb_passing) / sizeof(*p);

	while (p < end && !(p->error == error && p->ops & kfb_refusal_of(op)))
		p++;
	return p < end && who >= p->who;
}

/* ---- words ---------------------------------------------------------------- */

/**
 * struct kfb_refusal - an error in words
 * @ops: KFB_OF() each of them
 * @error: a negative errno
 * @why: the reason; NULL: that of the status
 * @next: what a person can do; NULL: the row for any op has it
 */
struct kfb_refusal {
	__u32 ops;
	int error;
	const char *why;
	const char *next;
};

static const char kfb_knows_space[] =
	"brickctl info shows the free space, the quota and the limits";

/* What is particular comes before what is general. */
static const struct kfb_refusal kfb_refusals[] = {
	{ KFB_OF(MAP) | KFB_OF_SPACE, -EBADE, NULL,
	  "register this client's key first (brickctl reserve)" },
	{ KFB_OF(UNMAP), -EIO,
	  "it is unmapped, and what was written there may not be durable",
	  NULL },
	{ KFB_OF(UNMAP), -ENOENT, NULL,
	  "brickctl list mine shows the mappings that live" },
	{ KFB_OF(UNMAP), -ESTALE, NULL,
	  "brickctl list mine shows the mappings that live" },
	{ KFB_OF(FREE), -EBUSY, NULL,
	  "unmap it first: brickctl list mine shows the mappings of this client" },

	{ KFB_OF_CLIENTS, -EACCES,
	  "this client has not the role fencer in the brick's settings",
	  "role = fencer in its section of brickd.conf gives it that" },
	{ KFB_OF_CLIENTS, -ENOENT, "the brick knows no such client",
	  "brickctl clients shows those it knows" },
	{ KFB_OF_CLIENTS, -EINVAL, "a client does not fence itself",
	  "another fencer can" },
	{ KFB_OF_CLIENTS, -EOPNOTSUPP, NULL,
	  "fences = PATH in brickd.conf names the file that it keeps them in, from version 0.2 on" },

	{ KFB_OF_RESERVING, -EBADE,
	  "reservation conflict: this client has not registered that key, "
	  "another one holds the reservation, or nobody has the key that is "
	  "to be preempted",
	  "brickctl reserve show VA+N says who has which key" },
	{ KFB_OF_RESERVING, -EINVAL,
	  "the range is none, another type is reserved than is to be "
	  "released, or no key is named to be preempted",
	  "brickctl reserve show VA+N says what is reserved" },
	{ KFB_OF_RESERVING, -EACCES,
	  "the range is outside this client's grants, or the client has no "
	  "name",
	  NULL },
	{ KFB_OF_RESERVING, -EEXIST,
	  "blocks of the range belong to registrations of a range that "
	  "begins at another address",
	  "brickctl reserve show VA+N says what is reserved" },
	{ KFB_OF_RESERVING, -EOPNOTSUPP,
	  "the brick keeps no persistent reservations: it is older, or its "
	  "settings name no file for them",
	  "reservations = PATH in brickd.conf names the file that it keeps them in, from version 0.2 on" },
	{ KFB_OF(FENCE) | KFB_OF(RESERVE), -EIO,
	  "the brick could not make this durable: until it is asked again "
	  "and succeeds, a restart may do it or undo it",
	  NULL },

	{ KFB_OF_ANY, -EINVAL, NULL,
	  "addresses are multiples of 2 MiB (0x200000), counts are at least 1" },
	{ KFB_OF_ANY, -EACCES, NULL,
	  "the brick's configuration grants each client its ranges" },
	{ KFB_OF_ANY, -EEXIST, NULL, "brickctl list shows what is allocated" },
	{ KFB_OF_ANY, -ENOENT, NULL, "brickctl list shows what is there" },
	{ KFB_OF_ANY, -EBUSY, NULL,
	  "brickctl list mine shows the mappings of this client" },
	{ KFB_OF_ANY, -ENOSPC, NULL, kfb_knows_space },
	{ KFB_OF_ANY, -EDQUOT, NULL, kfb_knows_space },
	{ KFB_OF_ANY, -ESTALE, NULL, "map again: the brick has restarted" },
	{ KFB_OF_ANY, -EAGAIN, NULL, "try again later" },
	{ KFB_OF_ANY, -ESHUTDOWN, NULL, "try again later" },
	{ KFB_OF_ANY, -EIO, NULL, "the brick's log says more" },
	{ KFB_OF_ANY, -EPROTO, "the brick answered something else", NULL },
};

#define KFB_REFUSALS_END \
	(kfb_refusals + sizeof(kfb_refusals) / sizeof(kfb_refusals[0]))

/* The first row of an op's error from @r on; KFB_REFUSALS_END: there is none. */
static const struct kfb_refusal *kfb_refusal_find(const struct kfb_refusal *r,
						  __u16 op, int error)
{
	while (r < KFB_REFUSALS_END &&
	       !(r->error == error && r->ops & kfb_refusal_of(op)))
		r++;
	return r;
}

const char *kfb_refusal_why(__u16 op, int error)
{
	const struct kfb_refusal *r = kfb_refusal_find(kfb_refusals, op, error);
	enum kfb_status status = kfb_status_from_errno(error);

	if (r < KFB_REFUSALS_END && r->why)
		return r->why;
	/* An errno without a status is none of a brick's. */
	return kfb_status_to_errno(status) == error ? kfb_status_text(status)
						    : NULL;
}

const char *kfb_refusal_next(__u16 op, int error)
{
	const struct kfb_refusal *r = kfb_refusal_find(kfb_refusals, op, error);

	if (r < KFB_REFUSALS_END && !r->next)
		r = kfb_refusal_find(r + 1, op, error);
	return r < KFB_REFUSALS_END && r->next ? r->next
					       : "the brick's log may say more";
}

enum kfb_shortage kfb_shortage(const struct kfb_info *info, __u64 n_blocks,
			       __u64 *n_free)
{
	__u32 quota = info->quota_blocks, owned = info->owned_blocks;

	*n_free = info->slots_free + info->slow_free;
	if (info->flags & KFB_INFO_QUOTA &&
	    (owned > quota || n_blocks > quota - owned))
		return KFB_SHORT_OF_QUOTA;
	return n_blocks > *n_free ? KFB_SHORT_OF_SPACE : KFB_SHORT_OF_NOTHING;
}
