// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_interop: runs the tests when the module is loaded; TAP goes to the log.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "iop.h"

static char *role = "client";
module_param(role, charp, 0444);
MODULE_PARM_DESC(role, "client: connect to the peer; server: listen; removal: "
		       "without a peer, until the device is gone");
static bool shared;
module_param(shared, bool, 0444);
MODULE_PARM_DESC(shared, "removal: receives are a shared context's");
static char *provider = "verbs";
module_param(provider, charp, 0444);
MODULE_PARM_DESC(provider, "verbs or tcp");
static char *node = "127.0.0.1";
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "address of the end that listens");
static char *service = "7471";
module_param(service, charp, 0444);
MODULE_PARM_DESC(service, "port");
static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "run only the tests of these names, with commas");

static bool strict;
module_param(strict, bool, 0444);
MODULE_PARM_DESC(strict, "the peer minds what it may not be sent: not "
			 "libfabric's tcp");

static unsigned int step = 1;
module_param(step, uint, 0444);
MODULE_PARM_DESC(step, "of the alignments that are tried; 1: all");

static unsigned int points, failed;

enum who {
	ALL,
	/* What libfabric's own tcp provider does not survive, or, when it has
	 * no receive posted, does not see.
	 */
	STRICT,
	TCP
};

static const struct {
	const char *name;
	void (*run)(struct iop *t);
	enum who who;
} tests[] = {
	{ "messages", iop_t_messages },
	{ "inject", iop_t_inject },
	{ "rma", iop_t_rma },
	{ "flush", iop_t_flush },
	{ "levels", iop_t_levels, TCP },
	{ "peer_levels", iop_t_peer_levels, TCP },
	{ "read_only", iop_t_read_only, STRICT },
	{ "peer_rma", iop_t_peer_rma },
	{ "peer_read_only", iop_t_peer_read_only },
	{ "peer_write_only", iop_t_peer_write_only },
	{ "peer_wrong_key", iop_t_peer_wrong_key },
	{ "peer_read_wrong_key", iop_t_peer_read_wrong_key },
	{ "peer_write_over", iop_t_peer_write_over },
	{ "peer_read_before", iop_t_peer_read_before },
	{ "peer_stale_key", iop_t_peer_stale_key },
	{ "write_wrong_key", iop_t_write_wrong_key, STRICT },
	{ "read_wrong_key", iop_t_read_wrong_key, STRICT },
	{ "write_over", iop_t_write_over, STRICT },
	{ "read_over", iop_t_read_over, STRICT },
	{ "write_before", iop_t_write_before, STRICT },
	{ "read_far", iop_t_read_far, STRICT },
	{ "too_long", iop_t_too_long },
	{ "quit", iop_t_quit },
	{ "hang", iop_t_hang, STRICT },
	{ "kill_writes", iop_t_kill_writes },
	{ "kill_reads", iop_t_kill_reads },
	{ "kill_messages", iop_t_kill_messages },
	{ "kill_writing", iop_t_kill_writing },
};

bool iop_check(bool good, const char *format, ...)
{
	struct va_format vaf = { .fmt = format };
	va_list args;

	va_start(args, format);
	vaf.va = &args;
	pr_info("%sok %u - %s: %pV\n", good ? "" : "not ", ++points, role,
		&vaf);
	va_end(args);
	failed += !good;
	return good;
}

/* How often @name is in @only, or, without a name, how many names are. */
static unsigned int wanted(const char *name)
{
	const char *at = only;
	unsigned int n = 0;
	size_t len;

	while (*at) {
		len = strcspn(at, ",");
		n += !name || (strlen(name) == len && !strncmp(at, name, len));
		at += len + (at[len] == ',');
	}
	return n;
}

/* Return: false: nobody is there, who would not be there for others either. */
static bool run_one(struct iop *t, const char *name, void (*run)(struct iop *))
{
	ktime_t begin = ktime_get();
	int ret;

	ret = iop_open(t);
	if (iop_check(!ret, "%s: connected (%d)", name, ret))
		run(t);
	iop_close(t);
	pr_info("# %s took %lld ms\n", name,
		ktime_ms_delta(ktime_get(), begin));
	return !ret;
}

static bool fits(const struct iop *t, enum who who)
{
	switch (who) {
	case STRICT:
		return t->strict;
	case TCP:
		return iop_is_tcp(t);
	default:
		return true;
	}
}

static void run_all(struct iop *t)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (!fits(t, tests[i].who) || (*only && !wanted(tests[i].name)))
			continue;
		n++;
		if (!run_one(t, tests[i].name, tests[i].run))
			return;
	}
	if (*only)
		iop_check(n == wanted(NULL),
			  "%u of the %u named tests have run", n, wanted(NULL));
	if (t->server)
		iop_reject(t);
	else
		iop_be_rejected(t);
}

static int __init iop_init(void)
{
	struct iop *t = kzalloc(sizeof(*t), GFP_KERNEL);
	bool removal = !strcmp(role, "removal");

	if (!t)
		return -ENOMEM;
	t->server = !strcmp(role, "server");
	t->node = node;
	t->service = service;
	t->provider = provider;
	t->source = t->server || removal;
	t->step = max(step, 1u);
	t->strict = strict || strcmp(provider, "tcp");
	if (iop_check(!iop_setup(t),
		      "the provider and its objects are there")) {
		if (removal)
			iop_removal(t, shared);
		else
			run_all(t);
	}
	iop_teardown(t);
	kfree(t);
	pr_info("1..%u\n", points);
	pr_info("# interop %s: %u passed, %u failed\n", role, points - failed,
		failed);
	return 0;
}

static void __exit iop_exit(void)
{
}

module_init(iop_init);
module_exit(iop_exit);
MODULE_DESCRIPTION("kfabric test: talk to user-space libfabric");
MODULE_LICENSE("Dual BSD/GPL");
