// SPDX-License-Identifier: BSD-2-Clause
/*
 * The start-up self-test.
 *
 * A registration cache, a provider that forgets to check, or a device that
 * delays invalidation would turn every promise about UNMAP and grants into
 * air; so each fabric proves, on a connection with itself, that a good write
 * lands and that stale, foreign and read-only keys end the writer's connection
 * with no byte landed.
 */
#include "brickd/selftest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "brickd/log.h"
#include "brickd/selftest_link.h"
#include "brickd/util.h"

#define PATTERN	   0x5a
#define WRITE_LEN  256
#define AREA_BYTES 8192 /* a target page, then a source page */
#define PAGE_BYTES 4096

enum key_kind {
	KEY_GOOD,
	KEY_STALE,
	KEY_FOREIGN,
	KEY_READ_ONLY
};

struct trial {
	const struct brick_fabric *f;
	struct brick_link link;
	struct fid_domain *other_domain;
	struct brick_region target;
	struct fid_mr *source;
	uint8_t *area;
};

static int make_key(struct trial *t, enum key_kind kind)
{
	struct fid_domain *domain = t->link.server.domain;
	int rc;

	if (kind == KEY_FOREIGN) {
		rc = fi_domain(t->link.server.fabric, t->link.server.info,
			       &t->other_domain, NULL);
		if (rc)
			return rc;
		domain = t->other_domain;
	}
	rc = brick_fabric_reg(t->f, domain, t->area, PAGE_BYTES,
			      kind != KEY_READ_ONLY, &t->target);
	if (!rc && kind == KEY_STALE)
		brick_fabric_dereg(&t->target);
	return rc;
}

static int make_source(struct trial *t)
{
	memset(t->area, 0, AREA_BYTES);
	memset(t->area + PAGE_BYTES, PATTERN, WRITE_LEN);
	if (!t->f->mr_local)
		return 0;
	return fi_mr_reg(t->link.client.domain, t->area + PAGE_BYTES,
			 PAGE_BYTES, FI_WRITE, 0, 0, 0, &t->source, NULL);
}

static void close_trial(struct trial *t)
{
	/* Endpoints first: only then has all stopped that still moves. */
	if (t->link.client.ep)
		fi_close(&t->link.client.ep->fid);
	if (t->link.server.ep)
		fi_close(&t->link.server.ep->fid);
	t->link.client.ep = NULL;
	t->link.server.ep = NULL;
	brick_fabric_dereg(&t->target);
	if (t->source)
		fi_close(&t->source->fid);
	if (t->other_domain)
		fi_close(&t->other_domain->fid);
	brick_link_close(&t->link);
}

static bool landed(const struct trial *t)
{
	for (size_t i = 0; i < PAGE_BYTES; i++)
		if (t->area[i])
			return true;
	return false;
}

/* Return: 0, 1 when the key was not treated as it must be, or -errno. */
static int try_key(const struct brick_fabric *f, uint8_t *area,
		   enum key_kind kind)
{
	struct trial t = { .f = f, .area = area };
	void *desc;
	int rc;

	rc = brick_link_open(&t.link, f);
	if (!rc)
		rc = make_source(&t);
	if (!rc)
		rc = make_key(&t, kind);
	if (!rc) {
		desc = t.source ? fi_mr_desc(t.source) : NULL;
		rc = brick_link_write(&t.link, area + PAGE_BYTES, desc,
				      WRITE_LEN, &t.target);
		if (kind == KEY_GOOD)
			rc = rc || !landed(&t);
		else if (!rc || rc == -ECONNABORTED)
			rc = rc == 0;
	}
	close_trial(&t);
	if (kind != KEY_GOOD && landed(&t))
		rc = 1;
	return rc;
}

int brick_selftest(const struct brick_fabric *f, char *err, size_t err_len)
{
	static const struct {
		enum key_kind kind;
		const char *wrong;
	} trials[] = {
		{ KEY_GOOD, "a write with a good key does not land" },
		{ KEY_STALE, "a key is good after its registration is closed" },
		{ KEY_FOREIGN, "a key of another session is good" },
		{ KEY_READ_ONLY, "a read-only key takes writes" },
	};
	const char *name = brick_provider_name(f->address->provider);
	uint8_t *area;
	int rc = 0;

	area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	for (size_t i = 0; !rc && i < BRICK_ARRAY_SIZE(trials); i++) {
		rc = try_key(f, area, trials[i].kind);
		if (rc > 0) {
			snprintf(err, err_len,
				 "self-test of the %s provider failed: %s; not "
				 "serving",
				 name, trials[i].wrong);
			rc = -EKEYREJECTED;
		} else if (rc) {
			snprintf(err, err_len,
				 "self-test of the %s provider on %s could not "
				 "be carried out (%s: %s); not serving",
				 name, f->address->host, trials[i].wrong,
				 fi_strerror(-rc));
		}
	}
	munmap(area, AREA_BYTES);
	if (!rc)
		brick_log(LOG_DEBUG, NULL, "self-test of %s passed", name);
	return rc;
}
