// SPDX-License-Identifier: BSD-2-Clause
/*
 * The synchronous forms: the asynchronous ones, waited for.
 *
 * Where the fabric wants local memory registered, data goes through a bounce
 * buffer in chunks, as many at a time as there are; else the caller's memory
 * is used as it is.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

/*
 * Wait until @op is done; the time counts from the last bytes that moved. Nothing
 * takes a posted operation back but the end of its connection: when that
 * is over in time and comes back, the operation goes on.
 */
static int wait_op(struct kfbrick *k, struct kfbl_op *op, uint64_t timeout_ms)
{
	uint64_t until_ms = kfbl_now_ms() + timeout_ms;
	uint64_t moved = k->moved_bytes;

	while (op->state == KFBL_OP_ACTIVE) {
		bool any = kfbl_progress(k);

		if (moved != k->moved_bytes) {
			moved = k->moved_bytes;
			until_ms = kfbl_now_ms() + timeout_ms;
		}
		if (op->state != KFBL_OP_ACTIVE || (any && !k->is_settled))
			continue;
		if (!kfbl_is_live(k)) {
			kfbl_wait(k, KFB_TIME_NEVER);
			until_ms = kfbl_now_ms() + timeout_ms;
		} else if (kfbl_now_ms() >= until_ms) {
			kfbl_lost_all(k, -ETIMEDOUT,
				      "an operation was not completed in time");
		} else {
			kfbl_wait(k, until_ms);
		}
	}
	return op->error;
}

static int describe_failure(struct kfbrick *k, int error, const char *what,
			    uint64_t va, size_t len)
{
	if (error == -EACCES)
		return kfbl_fail(
			k, error,
			"%s " KFBL_BYTES
			" at %s: the brick refused the key: the "
			"mapping was taken back; connect and map again",
			what, va, len, k->url.text);
	if (error == -ECONNABORTED)
		return kfbl_fail(k, error,
				 "%s " KFBL_BYTES " at %s: %d connections died "
				 "with it in flight: it may be what kills them",
				 what, va, len, k->url.text, KFB_STRIKES_MAX);
	if (kfbl_is_over(k))
		return kfbl_fail(k, error,
				 "%s " KFBL_BYTES
				 " at %s: the connection was lost: %s; the "
				 "outcome is unknown: connect again and repeat "
				 "it",
				 what, va, len, k->url.text, kfbl_why(k));
	return kfbl_fail(k, error, "%s " KFBL_BYTES " at %s: %s", what, va, len,
			 k->url.text, strerror(-error));
}

/* One run through all chunks of the bounce buffer, at most @len bytes. */
static int bounce_round(struct kfbrick *k, enum kfbl_op_kind kind, uint64_t va,
			uint8_t *buf, size_t len)
{
	struct kfbl_op *ops[KFBL_BOUNCE_CHUNKS];
	size_t at[KFBL_BOUNCE_CHUNKS];
	size_t done = 0;
	int error = 0;
	int n = 0;
	int i;

	while (done < len && n < KFBL_BOUNCE_CHUNKS) {
		uint8_t *chunk =
			k->bounce + (size_t)n * KFBL_BOUNCE_CHUNK_BYTES;
		size_t part = len - done;

		if (part > KFBL_BOUNCE_CHUNK_BYTES)
			part = KFBL_BOUNCE_CHUNK_BYTES;
		if (kind == KFBL_OP_WRITE)
			memcpy(chunk, buf + done, part);
		ops[n] = kfbl_op_get(k, true);
		at[n] = done;
		kfbl_post(k, ops[n], kind, va + done, chunk, part,
			  k->fabric.control_desc);
		done += part;
		n++;
	}
	for (i = 0; i < n; i++) {
		int rc = wait_op(k, ops[i], k->timeout_ms);

		if (!rc && kind == KFBL_OP_READ)
			memcpy(buf + at[i],
			       k->bounce + (size_t)i * KFBL_BOUNCE_CHUNK_BYTES,
			       ops[i]->len);
		if (rc && !error)
			error = rc;
		kfbl_op_put(k, ops[i]);
	}
	return error;
}

static int move_bounced(struct kfbrick *k, enum kfbl_op_kind kind, uint64_t va,
			uint8_t *buf, size_t len)
{
	size_t round = KFBL_BOUNCE_CHUNKS * (size_t)KFBL_BOUNCE_CHUNK_BYTES;
	int rc = 0;

	while (len && !rc) {
		size_t part = len < round ? len : round;

		rc = bounce_round(k, kind, va, buf, part);
		va += part;
		buf += part;
		len -= part;
	}
	return rc;
}

static int move_bytes(struct kfbrick *k, enum kfbl_op_kind kind, uint64_t va,
		      uint8_t *buf, size_t len)
{
	const char *what = kind == KFBL_OP_WRITE ? "write to" : "read of";
	struct kfbl_op *op;
	int rc;

	if (kfbl_is_over(k))
		return kfbl_not_connected(k);
	rc = kfbl_io_check(k, va, len, kind == KFBL_OP_WRITE);
	if (rc)
		return rc;
	if (!kfb_client_lease_ok(&k->core.client, kfbl_now_ms()))
		rc = kfbrick_ping(k);
	if (rc)
		return rc;
	if (k->fabric.mr_local) {
		rc = move_bounced(k, kind, va, buf, len);
	} else {
		op = kfbl_op_get(k, true);
		kfbl_post(k, op, kind, va, buf, len, NULL);
		rc = wait_op(k, op, k->timeout_ms);
		kfbl_op_put(k, op);
	}
	return rc ? describe_failure(k, rc, what, va, len) : 0;
}

int kfbrick_read(struct kfbrick *k, uint64_t va, void *buf, size_t len)
{
	return move_bytes(k, KFBL_OP_READ, va, buf, len);
}

int kfbrick_write(struct kfbrick *k, uint64_t va, const void *buf, size_t len)
{
	/* The fabric's interface has no const; a write only reads it. */
	return move_bytes(k, KFBL_OP_WRITE, va, (uint8_t *)(uintptr_t)buf, len);
}

int kfbrick_flush(struct kfbrick *k)
{
	struct kfbl_op *op;
	int rc;

	if (kfbl_is_over(k))
		return kfbl_not_connected(k);
	op = kfbl_op_get(k, true);
	kfbl_flush_start(k, op);
	/* A flush may wait for one before it; each has its own deadline. */
	rc = wait_op(k, op, 2 * (uint64_t)k->timeout_ms);
	kfbl_op_put(k, op);
	if (!rc)
		return 0;
	if (rc == -EOPNOTSUPP)
		return kfbl_fail(k, rc,
				 "flush at %s: the brick is volatile: nothing "
				 "makes its memory durable",
				 k->url.text);
	if (rc == -EIO && kfb_losses_error(&k->core.losses))
		return kfbl_flush_losses(k);
	if (kfbl_is_over(k))
		return kfbl_fail(k, rc,
				 "flush at %s: the connection was lost: %s; "
				 "completed writes may not be durable: connect "
				 "again and repeat them",
				 k->url.text, kfbl_why(k));
	if (rc == -EIO)
		return kfbl_fail(k, rc,
				 "flush at %s: the medium failed: what was "
				 "written since the last good flush is in "
				 "doubt, and may not be durable: write it "
				 "again, and flush, when the brick is repaired",
				 k->url.text);
	return kfbl_fail(k, rc,
			 "flush at %s: %s: completed writes may not be durable",
			 k->url.text, strerror(-rc));
}
