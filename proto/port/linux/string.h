/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stand-in for Linux' <linux/string.h> on other systems: the functions that
 * proto/ and initiator/core call and the system must have.
 */
#ifndef KFB_PORT_LINUX_STRING_H
#define KFB_PORT_LINUX_STRING_H

int memcmp(const void *a, const void *b, __SIZE_TYPE__ len);
void *memcpy(void *to, const void *from, __SIZE_TYPE__ len);
void *memmove(void *to, const void *from, __SIZE_TYPE__ len);
void *memset(void *to, int byte, __SIZE_TYPE__ len);
char *strchr(const char *text, int wanted);
__SIZE_TYPE__ strcspn(const char *text, const char *unwanted);
__SIZE_TYPE__ strlen(const char *text);

#endif
