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
#include "brickd/net/selftest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "brickd/base/log.h"
#include "brickd/net/devices.h"
#include "brickd/net/selftest_link.h"

#define PATTERN	   0x5a
#define WRITE_LEN  256
#define AREA_BYTES 8192 /* a target page, then a source page */
#define PAGE_BYTES 4096

enum key_kind {
	KEY_GOOD,
	KEY_STALE,
	KEY_FOREIGN,
	KEY_READ_ONLY,
	KEY_LAST = KEY_READ_ONLY
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
		rc = brick_fabric_dereg(&t->target, NULL);
	return rc;
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
	(void)brick_fabric_dereg(&t->target, NULL);
	if (t->source)
		fi_close(&t->source->fid);
	if (t->other_domain)
		fi_close(&t->other_domain->fid);
	brick_link_close(&t->link);
}

static bool has_landed(const struct trial *t)
{
	for (size_t i = 0; i < PAGE_BYTES; i++)
		if (t->area[i])
			return true;
	return false;
}

/*
 * Sets *@seen to what showed that the key was not treated as it must be.
 *
 * Return: 0, 1 when it was not, or -errno.
 */
static int try_key(struct brick_fabric *f, const struct brick_address *to,
		   uint8_t *area, enum key_kind kind, const char **seen)
{
	struct trial t = { .f = f, .area = area };
	void *desc;
	int rc;

	*seen = kind == KEY_GOOD ? "no byte changed" : "the write completed";
	/* First of all: what the last trial wrote must not count in this one. */
	memset(area, 0, AREA_BYTES);
	rc = brick_link_open(&t.link, f, to);
	memset(area + PAGE_BYTES, PATTERN, WRITE_LEN);
	if (!rc && f->mr_local)
		rc = fi_mr_reg(t.link.client.domain, area + PAGE_BYTES,
			       PAGE_BYTES, FI_WRITE, 0, 0, 0, &t.source, NULL);
	if (!rc)
		rc = make_key(&t, kind);
	if (!rc) {
		desc = t.source ? fi_mr_desc(t.source) : NULL;
		rc = brick_link_write(&t.link, area + PAGE_BYTES, desc,
				      WRITE_LEN, &t.target);
		if (!rc || rc == -ECONNABORTED)
			rc = kind == KEY_GOOD ? rc || !has_landed(&t) : !rc;
	}
	/* The last trial's request tells which device has passed them all. */
	if (!rc && kind == KEY_LAST)
		rc = brick_device_add(f, t.link.server.info);
	close_trial(&t);
	if (kind != KEY_GOOD && rc != 1 && has_landed(&t)) {
		*seen = "its bytes landed";
		rc = 1;
	}
	return rc;
}

/* All keys, over one device. */
static int test_device(struct brick_fabric *f, const struct brick_address *to,
		       uint8_t *area, char *err, size_t err_len)
{
	static const char *const wrong[] = {
		[KEY_GOOD] = "a write with a good key does not land",
		[KEY_STALE] = "a key is good after its registration is closed",
		[KEY_FOREIGN] = "a key of another session is good",
		[KEY_READ_ONLY] = "a read-only key takes writes",
	};
	const char *name = to->scheme->name;
	const char *seen;
	int rc;

	for (enum key_kind kind = KEY_GOOD; kind <= KEY_LAST; kind++) {
		rc = try_key(f, to, area, kind, &seen);
		if (!rc)
			continue;
		if (rc < 0) {
			snprintf(err, err_len,
				 "self-test of the %s provider on %s could not "
				 "be carried out (%s: %s); not serving",
				 name, to->host, wrong[kind], fi_strerror(-rc));
			return rc;
		}
		snprintf(err, err_len,
			 "self-test of the %s provider on %s failed: %s (%s); "
			 "not serving",
			 name, to->host, wrong[kind], seen);
		return -EKEYREJECTED;
	}
	brick_log(LOG_DEBUG, NULL, "self-test of %s on %s passed", name,
		  to->host);
	return 0;
}

int brick_selftest(struct brick_fabric *f, char *err, size_t err_len)
{
	struct brick_address found[BRICK_DEVICES_MAX];
	uint32_t n = 0;
	uint8_t *area;
	int rc;

	rc = brick_devices_find(f->address, found, &n, err, err_len);
	if (rc)
		return rc;
	area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = test_device(f, &found[i], area, err, err_len);
	munmap(area, AREA_BYTES);
	return rc;
}
