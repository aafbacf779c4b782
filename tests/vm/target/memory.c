// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_target: memory. Three regions lie in one buffer, with bytes around each that
 * belong to nobody: one to write to, one to read, and one that comes and goes.
 */
#include <linux/delay.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "target.h"

#define BYTES	   SZ_16K
#define GUARD	   SZ_4K
#define GUARD_BYTE 0xa5
#define READ_BYTE  0x3c
#define SETTLE_MS  20
#define REGIONS	   3
#define STRIDE	   (BYTES + GUARD)
#define BUFFER	   (GUARD + REGIONS * STRIDE)

enum {
	TARGET_WRITE,
	TARGET_READ,
	TARGET_BRIEF
};

static const struct {
	const char *name;
	u64 access;
} kinds[REGIONS] = {
	[TARGET_WRITE] = { "write", FI_REMOTE_READ | FI_REMOTE_WRITE },
	[TARGET_READ] = { "read", FI_REMOTE_READ },
	[TARGET_BRIEF] = { "brief", FI_REMOTE_READ | FI_REMOTE_WRITE },
};

static DEFINE_MUTEX(lock); /* protects what follows */
static struct fid_mr *regions[REGIONS];
static u8 *buffer;
static unsigned long bad;

static u8 *region_bytes(int i)
{
	return buffer + GUARD + i * STRIDE;
}

static int open_region(struct fid_domain *domain, int i)
{
	return fi_mr_reg(domain, region_bytes(i), BYTES, kinds[i].access, 0,
			 i + 1, 0, &regions[i], NULL);
}

static int close_region(int i)
{
	int ret = regions[i] ? fi_close(&regions[i]->fid) : 0;

	regions[i] = NULL;
	return ret;
}

static void look(const u8 *from, u8 byte, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		bad += from[i] != byte;
}

static void look_around(void)
{
	int i;

	for (i = 0; i <= REGIONS; i++)
		look(buffer + i * STRIDE, GUARD_BYTE, GUARD);
	look(region_bytes(TARGET_READ), READ_BYTE, BYTES);
}

int target_memory_open(struct fid_domain *domain)
{
	int i, ret = 0;

	buffer = kmalloc(BUFFER, GFP_KERNEL);
	if (!buffer)
		return -ENOMEM;
	memset(buffer, GUARD_BYTE, BUFFER);
	memset(region_bytes(TARGET_READ), READ_BYTE, BYTES);
	for (i = 0; i < REGIONS && !ret; i++)
		ret = open_region(domain, i);
	return ret;
}

void target_memory_close(void)
{
	int i;

	mutex_lock(&lock);
	for (i = 0; i < REGIONS; i++)
		WARN_ON(close_region(i));
	kfree(buffer);
	buffer = NULL;
	mutex_unlock(&lock);
}

int target_memory_turn(struct fid_domain *domain)
{
	u8 *brief = region_bytes(TARGET_BRIEF);
	int ret;

	mutex_lock(&lock);
	ret = close_region(TARGET_BRIEF);
	memset(brief, 0, BYTES);
	msleep(SETTLE_MS);
	look(brief, 0, BYTES);
	look_around();
	ret = ret ?: open_region(domain, TARGET_BRIEF);
	mutex_unlock(&lock);
	return ret;
}

unsigned long target_memory_bad(void)
{
	unsigned long n;

	mutex_lock(&lock);
	n = bad;
	mutex_unlock(&lock);
	return n;
}

int target_memory_tell(char *text)
{
	int i, n = 0;

	mutex_lock(&lock);
	for (i = 0; i < REGIONS; i++)
		if (regions[i])
			n += scnprintf(text + n, PAGE_SIZE - n,
				       "%s %llu %llu %d\n", kinds[i].name,
				       regions[i]->key, regions[i]->iova,
				       BYTES);
	mutex_unlock(&lock);
	return n;
}
