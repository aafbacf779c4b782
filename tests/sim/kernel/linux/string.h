/* SPDX-License-Identifier: BSD-2-Clause */
/* Text. */
#ifndef SIM_LINUX_STRING_H
#define SIM_LINUX_STRING_H

#include <string.h>

#include <linux/types.h>

ssize_t strscpy(char *to, const char *from, size_t room);
char *strim(char *text);
void memzero_explicit(void *at, size_t len);
char *kstrdup(const char *text, gfp_t flags);
void *kmemdup(const void *from, size_t len, gfp_t flags);
void *memdup_user_nul(const void *from, size_t len);

#endif
