// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the hex files of proto/vectors: a line that ends in a colon names the
 * bytes that follow, two hex digits each; # begins a comment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "samples.h"

static const char *const kind_names[] = {
	[SAMPLE_HELLO] = "hello",   [SAMPLE_ACCEPT] = "accept",
	[SAMPLE_REJECT] = "reject", [SAMPLE_REQUEST] = "request",
	[SAMPLE_REPLY] = "reply",
};

static __u32 read_line(const char *line, __u8 *buf, __u32 at, __u32 cap)
{
	for (line += strspn(line, " "); *line; line += strspn(line, " ")) {
		char *end;
		unsigned long byte = strtoul(line, &end, 16);

		if (end != line + 2 || byte > 0xff)
			fail_msg("not two hex digits: %s", line);
		if (at == cap)
			fail_msg("more than %u bytes", cap);
		buf[at++] = (__u8)byte;
		line = end;
	}
	return at;
}

__u32 vector_read(const char *file, const char *name, void *buf, __u32 cap)
{
	char path[4096], line[256];
	int wanted = 0;
	__u32 len = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.hex", getenv("KFB_VECTORS"), file);
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot read %s (KFB_VECTORS names the folder)", path);
	while (fgets(line, sizeof(line), f)) {
		char *colon;

		line[strcspn(line, "#\n")] = '\0';
		colon = strchr(line, ':');
		if (colon) {
			*colon = '\0';
			wanted = strcmp(line, name) == 0;
		} else if (wanted) {
			len = read_line(line, buf, len, cap);
		}
	}
	fclose(f);
	if (len == 0)
		fail_msg("%s has no bytes called %s", path, name);
	return len;
}

__u32 sample_read(const struct sample *sample, void *buf)
{
	return vector_read(sample->file, kind_names[sample->kind], buf,
			   KFB_REPLY_MAX_BYTES);
}

const struct sample *sample_find(const char *file)
{
	unsigned int i;

	for (i = 0; i < n_samples; i++)
		if (strcmp(samples[i].file, file) == 0)
			return &samples[i];
	fail_msg("no sample %s", file);
	return NULL;
}
