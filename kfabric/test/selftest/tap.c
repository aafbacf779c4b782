// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: results as KTAP, on the console and kept for debugfs.
 *
 * Locking: tap_lock protects the kept text.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/stdarg.h>
#include <linux/string.h>

#include "st.h"

#define TEXT_SIZE (512 * 1024)
#define LINE_SIZE 200

static DEFINE_MUTEX(st_tap_lock);
static char *st_tap_text;
static size_t st_tap_used;

int st_tap_setup(void)
{
	st_tap_text = kvzalloc(TEXT_SIZE, GFP_KERNEL);
	return st_tap_text ? 0 : -ENOMEM;
}

void st_tap_teardown(void)
{
	kvfree(st_tap_text);
}

void st_tap_line(const char *fmt, ...)
{
	char line[LINE_SIZE];
	va_list args;

	va_start(args, fmt);
	vscnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	pr_info("%s\n", line);
	mutex_lock(&st_tap_lock);
	st_tap_used += scnprintf(st_tap_text + st_tap_used,
				 TEXT_SIZE - st_tap_used, "%s\n", line);
	mutex_unlock(&st_tap_lock);
}

void st_tap_show(struct seq_file *m)
{
	mutex_lock(&st_tap_lock);
	seq_write(m, st_tap_text, st_tap_used);
	mutex_unlock(&st_tap_lock);
}

bool st_check(struct st *st, bool ok, const char *what, long long got,
	      long long want)
{
	unsigned int number = st->passed + st->failed + 1;

	st_tap_line("    %sok %u - %s", ok ? "" : "not ", number, what);
	if (ok) {
		st->passed++;
		return true;
	}
	st->failed++;
	if (got != want)
		st_tap_line("    # got %lld, want %lld", got, want);
	return false;
}

bool st_checkf(struct st *st, bool ok, const char *fmt, ...)
{
	char what[LINE_SIZE];
	va_list args;

	va_start(args, fmt);
	vscnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	return st_check(st, ok, what, 0, 0);
}
