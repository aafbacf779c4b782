// SPDX-License-Identifier: BSD-2-Clause
/*
 * What lies in a cell stands in the place of one function of the product, which
 * it calls when nobody is to lie.
 */
#include "liars.h"

#include "brickd/net/placing.h"
#include "brickd/storage/durable_write.h"
#include "brickd/storage/flush.h"
#include "initiator/core/data/kfb_fate.h"
#include "initiator/core/data/kfb_flush.h"
#include "initiator/core/kfb_initiator_priv.h"
#include "tests/powerfail/persist_nothing.h"

static enum cell_lie lie;
static bool is_placed_before_ack;

bool __real_brick_flush_try_now(struct brick_storage *s,
				const struct kfb_flush *flush,
				uint64_t begun_ns, int *error);
bool __wrap_brick_flush_try_now(struct brick_storage *s,
				const struct kfb_flush *flush,
				uint64_t begun_ns, int *error);
bool __real_brick_durable_write_enable(struct brick_storage *storage,
				       const struct brick_fabric *fabric,
				       struct fid_domain *domain);
bool __wrap_brick_durable_write_enable(struct brick_storage *storage,
				       const struct brick_fabric *fabric,
				       struct fid_domain *domain);
enum brick_placing __real_brick_placing_of(const struct kfb_scheme *scheme,
					   const char *folder,
					   const char *device);
enum brick_placing __wrap_brick_placing_of(const struct kfb_scheme *scheme,
					   const char *folder,
					   const char *device);
enum kfb_fate __real_kfb_fate_of(const struct kfb_fate_facts *facts);
enum kfb_fate __wrap_kfb_fate_of(const struct kfb_fate_facts *facts);
void __real_kfb_initiator_flush_answered(struct kfb_initiator_queue *q,
					 const struct kfb_outcome *outcome);
void __wrap_kfb_initiator_flush_answered(struct kfb_initiator_queue *q,
					 const struct kfb_outcome *outcome);
_Bool __real_kfb_flush_ticket_join(struct kfb_flush_ticket *ticket, __u32 index,
				   struct kfb_flush_queue *queue);
_Bool __wrap_kfb_flush_ticket_join(struct kfb_flush_ticket *ticket, __u32 index,
				   struct kfb_flush_queue *queue);

void cell_let_lie(enum cell_lie who, bool is_placed)
{
	lie = who;
	is_placed_before_ack = is_placed;
}

/* ---- the client ---------------------------------------------------------- */

_Bool __wrap_kfb_flush_ticket_join(struct kfb_flush_ticket *ticket, __u32 index,
				   struct kfb_flush_queue *queue)
{
	if (lie == CELL_CLIENT_SKIPS ||
	    (lie == CELL_CLIENT_FIRST_QUEUE && index))
		return 0;
	return __real_kfb_flush_ticket_join(ticket, index, queue);
}

void __wrap_kfb_initiator_flush_answered(struct kfb_initiator_queue *q,
					 const struct kfb_outcome *outcome)
{
	if (lie == CELL_CLIENT_MISTAKES)
		q->flush_ids[outcome->slot] = q->flush.last_id;
	__real_kfb_initiator_flush_answered(q, outcome);
}

enum kfb_fate __wrap_kfb_fate_of(const struct kfb_fate_facts *facts)
{
	return lie == CELL_CLIENT_TRUSTS ? KFB_FATE_PLACED
					 : __real_kfb_fate_of(facts);
}

/* ---- the brick ------------------------------------------------------------ */

bool __wrap_brick_flush_try_now(struct brick_storage *s,
				const struct kfb_flush *flush,
				uint64_t begun_ns, int *error)
{
	struct kfb_flush half = *flush;

	if (lie == CELL_BRICK_ANSWERS) {
		*error = 0;
		return true;
	}
	if (lie == CELL_BRICK_HALF && half.n_ranges > 1)
		half.n_ranges = 1;
	return __real_brick_flush_try_now(s, &half, begun_ns, error);
}

bool __wrap_brick_durable_write_enable(struct brick_storage *storage,
				       const struct brick_fabric *fabric,
				       struct fid_domain *domain)
{
	return __real_brick_durable_write_enable(storage, fabric, domain) &&
	       (lie != CELL_BRICK_COMMITS || is_persisting_nothing(domain));
}

/* No device of the simulated world is one that puts bytes in place first. */
enum brick_placing __wrap_brick_placing_of(const struct kfb_scheme *scheme,
					   const char *folder,
					   const char *device)
{
	return is_placed_before_ack
		       ? BRICK_PLACED_BEFORE_ACK
		       : __real_brick_placing_of(scheme, folder, device);
}
