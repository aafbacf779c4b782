/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfi_probe: forces what is rare: see probe.c.
 */
#ifndef KFI_PROBE_H
#define KFI_PROBE_H

#include <linux/types.h>

struct seq_file;

/* frag.c: which pages the kernel's own TCP sockets copy into. */
int kfp_frag_open(void);
void kfp_frag_close(void);
void kfp_frag_tell(struct seq_file *m);

#endif /* KFI_PROBE_H */
