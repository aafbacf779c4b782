// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_9p: the options of a mount.
 *
 * Context: process.
 */
#include <linux/kernel.h>
#include <linux/parser.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "k9p.h"

#define K9P_PORT	  "5640"
#define K9P_DEPTH	  16
#define K9P_TIMEOUT_S	  30
#define K9P_TIMEOUT_S_MAX 3600

enum k9p_option {
	K9P_OPTION_PORT,
	K9P_OPTION_PROVIDER,
	K9P_OPTION_DEPTH,
	K9P_OPTION_TIMEOUT,
	K9P_OPTION_OTHER,
};

static const match_table_t k9p_option_names = {
	{ K9P_OPTION_PORT, "port=%s" },	  { K9P_OPTION_PROVIDER, "prov=%s" },
	{ K9P_OPTION_DEPTH, "depth=%s" }, { K9P_OPTION_TIMEOUT, "timeout=%s" },
	{ K9P_OPTION_OTHER, NULL },
};

static int k9p_options_set_text(char **where, substring_t *arg)
{
	kfree(*where);
	*where = match_strdup(arg);
	return *where ? 0 : -ENOMEM;
}

static int k9p_options_set_number(unsigned int *where, substring_t *arg,
				  const char *name, unsigned int max)
{
	char *text = match_strdup(arg);
	unsigned int n;
	int ret;

	if (!text)
		return -ENOMEM;
	ret = kstrtouint(text, 10, &n);
	kfree(text);
	if (!ret && n && n <= max) {
		*where = n;
		return 0;
	}
	pr_err("kfabric_9p: %s= takes a number from 1 to %u\n", name, max);
	return -EINVAL;
}

static int k9p_options_set(struct k9p_options *o, char *word)
{
	substring_t args[MAX_OPT_ARGS];

	switch (match_token(word, k9p_option_names, args)) {
	case K9P_OPTION_PORT:
		return k9p_options_set_text(&o->port, args);
	case K9P_OPTION_PROVIDER:
		return k9p_options_set_text(&o->provider, args);
	case K9P_OPTION_DEPTH:
		return k9p_options_set_number(&o->depth, args, "depth",
					      K9PW_DEPTH_MAX);
	case K9P_OPTION_TIMEOUT:
		return k9p_options_set_number(&o->timeout_s, args, "timeout",
					      K9P_TIMEOUT_S_MAX);
	default:
		/* Of the file system, or of the 9P client. */
		return 0;
	}
}

/*
 * Leaves what k9p_options_free() frees, also when it fails. A mount without options has
 * no text.
 */
int k9p_options_parse(struct k9p_options *o, const char *node, const char *text)
{
	char *copy, *rest, *word;
	int ret = 0;

	o->depth = K9P_DEPTH;
	o->timeout_s = K9P_TIMEOUT_S;
	o->node = kstrdup(node, GFP_KERNEL);
	o->port = kstrdup(K9P_PORT, GFP_KERNEL);
	copy = kstrdup(text ?: "", GFP_KERNEL);
	if (!o->node || !o->port || !copy)
		ret = -ENOMEM;
	rest = copy;
	while (!ret && (word = strsep(&rest, ",")))
		if (*word)
			ret = k9p_options_set(o, word);
	kfree(copy);
	return ret;
}

void k9p_options_free(struct k9p_options *o)
{
	kfree(o->node);
	kfree(o->port);
	kfree(o->provider);
}
