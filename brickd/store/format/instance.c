// SPDX-License-Identifier: BSD-2-Clause
/* The instance pages and the look at who holds the store. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/store/format/crc32c.h"
#include "brickd/store/format/instance.h"
#include "kfb_endian.h"

#define SUM_BYTES offsetof(struct brick_fmt_instance, crc)
/* Fields of proc(5)'s stat, counted from 1; 3 is the one behind "(comm)". */
#define STAT_STATE   3
#define STAT_THREADS 20
#define STAT_START   22
#define STAT_BYTES   1024

static uint64_t page_off(unsigned int copy)
{
	return BRICK_FMT_INSTANCE + copy * BRICK_FMT_PAGE;
}

static uint32_t page_sum(const struct brick_super *sb,
			 const struct brick_fmt_instance *raw)
{
	__le32 salt;

	kfb_put_le32(&salt, sb->salt);
	return brick_crc32c(brick_crc32c(0, &salt, sizeof(salt)), raw,
			    SUM_BYTES);
}

static bool decode_instance(const struct brick_media *m,
			    const struct brick_super *sb, unsigned int copy,
			    struct brick_instance *inst)
{
	struct brick_fmt_instance raw;
	uint32_t flags;

	memcpy(&raw, m->base + page_off(copy), sizeof(raw));
	flags = kfb_get_le32(&raw.flags);
	if (kfb_get_le32(&raw.crc) != page_sum(sb, &raw) ||
	    flags & ~BRICK_FMT_INST_FLAGS ||
	    !brick_all_zero(raw.reserved, sizeof(raw.reserved)))
		return false;
	inst->seq = kfb_get_le64(&raw.seq);
	memcpy(inst->boot_id, raw.boot_id, sizeof(inst->boot_id));
	inst->instance_id = kfb_get_le64(&raw.instance_id);
	inst->start_time = kfb_get_le64(&raw.start_time);
	inst->pid = kfb_get_le32(&raw.pid);
	inst->clean = flags & BRICK_FMT_INST_CLEAN;
	inst->dirty_shutdowns_known = flags & BRICK_FMT_INST_DSC;
	inst->power_epoch = kfb_get_le64(&raw.power_epoch);
	inst->dirty_shutdowns = 0;
	inst->fs_id = 0;
	if (inst->dirty_shutdowns_known)
		inst->dirty_shutdowns = kfb_get_le64(&raw.counter);
	else
		inst->fs_id = kfb_get_le64(&raw.counter);
	return true;
}

int brick_instance_read(const struct brick_media *m,
			const struct brick_super *sb,
			struct brick_instance *inst, unsigned int *copy,
			bool *damaged)
{
	struct brick_instance page[BRICK_FMT_COPIES];
	bool valid[BRICK_FMT_COPIES];
	unsigned int i, best;

	for (i = 0; i < BRICK_FMT_COPIES; i++)
		valid[i] = decode_instance(m, sb, i, &page[i]);
	if (!valid[0] && !valid[1])
		return -EUCLEAN;
	best = !valid[0] || (valid[1] && page[1].seq > page[0].seq);
	*inst = page[best];
	*copy = best;
	*damaged = !valid[0] || !valid[1];
	return 0;
}

void brick_instance_put(struct brick_media *m, const struct brick_super *sb,
			unsigned int copy, const struct brick_instance *inst)
{
	struct brick_fmt_instance raw;

	memset(&raw, 0, sizeof(raw));
	kfb_put_le64(&raw.seq, inst->seq);
	memcpy(raw.boot_id, inst->boot_id, sizeof(raw.boot_id));
	kfb_put_le64(&raw.instance_id, inst->instance_id);
	kfb_put_le64(&raw.start_time, inst->start_time);
	kfb_put_le32(&raw.pid, inst->pid);
	kfb_put_le32(&raw.flags,
		     (inst->clean ? BRICK_FMT_INST_CLEAN : 0) |
			     (inst->dirty_shutdowns_known ? BRICK_FMT_INST_DSC
							  : 0));
	kfb_put_le64(&raw.power_epoch, inst->power_epoch);
	kfb_put_le64(&raw.counter, inst->dirty_shutdowns_known
					   ? inst->dirty_shutdowns
					   : inst->fs_id);
	kfb_put_le32(&raw.crc, page_sum(sb, &raw));
	m->ops->copy(m, page_off(copy), &raw, sizeof(raw));
	m->ops->flush(m, page_off(copy), sizeof(raw));
}

int brick_process_start_time(uint32_t pid, uint64_t *start_time)
{
	char path[sizeof("/proc/4294967295/stat")];
	char text[STAT_BYTES];
	char *at, *save = NULL;
	unsigned long threads = 0;
	bool is_dead = false;
	size_t len;
	FILE *file;
	int field;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return -ESRCH;
	len = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[len] = '\0';
	/* The name may hold blanks and brackets: start behind the last one. */
	at = strrchr(text, ')');
	if (!at)
		return -ESRCH;
	at = strtok_r(at + 1, " ", &save);
	for (field = STAT_STATE; at && field < STAT_START; field++) {
		if (field == STAT_STATE)
			is_dead = *at == 'Z' || *at == 'X';
		else if (field == STAT_THREADS)
			threads = strtoul(at, NULL, 10);
		at = strtok_r(NULL, " ", &save);
	}
	/*
	 * Whoever is dead has nothing open, though its parent has not asked yet
	 * what became of it, unless it is the first thread of others that are not.
	 */
	if (!at || (is_dead && threads <= 1))
		return -ESRCH;
	*start_time = strtoull(at, NULL, 10);
	return 0;
}

bool brick_instance_is_held(const struct brick_instance *inst,
			    const uint8_t boot_id[KFB_UUID_BYTES])
{
	uint64_t start_time;

	/* A mark names nobody's boot. The file's lock is there all the same. */
	if (!inst->pid || brick_instance_has_failed(inst) ||
	    memcmp(inst->boot_id, boot_id, KFB_UUID_BYTES) != 0)
		return false;
	return !brick_process_start_time(inst->pid, &start_time) &&
	       start_time == inst->start_time;
}
