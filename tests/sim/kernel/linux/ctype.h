/* SPDX-License-Identifier: BSD-2-Clause */
/* What kind of character one is. */
#ifndef SIM_LINUX_CTYPE_H
#define SIM_LINUX_CTYPE_H

static inline int isascii(int c)
{
	return c >= 0 && c < 128;
}

static inline int isalnum(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

#endif
