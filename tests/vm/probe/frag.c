// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_probe: looks over the shoulder of the kernel's own TCP sockets whenever one
 * of them wants room in a page for what it is to send: its own page, or the one
 * of the task that sends?
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <net/sock.h>

#include "probe.h"

static atomic_long_t kfp_own, kfp_task;

static int kfp_refill(struct kprobe *probe, struct pt_regs *regs)
{
	const struct sock *sk = (void *)regs_get_kernel_argument(regs, 0);
	const void *frag = (void *)regs_get_kernel_argument(regs, 1);

	if (!sk->sk_kern_sock || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	if (frag == &current->task_frag)
		atomic_long_inc(&kfp_task);
	else
		atomic_long_inc(&kfp_own);
	return 0;
}

static struct kprobe kfp_frag = {
	.symbol_name = "sk_page_frag_refill",
	.pre_handler = kfp_refill,
};

int kfp_frag_open(void)
{
	return register_kprobe(&kfp_frag);
}

void kfp_frag_close(void)
{
	unregister_kprobe(&kfp_frag);
}

void kfp_frag_tell(struct seq_file *m)
{
	seq_printf(m, "pages own=%ld task=%ld\n", atomic_long_read(&kfp_own),
		   atomic_long_read(&kfp_task));
}
