/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stand-in for Linux' <linux/errno.h> on other systems: the error numbers that
 * proto/ and initiator/core return. They never travel; a program that uses
 * them may replace the numbers by those of its system.
 */
#ifndef KFB_PORT_LINUX_ERRNO_H
#define KFB_PORT_LINUX_ERRNO_H

#define ENOENT		2
#define EIO		5
#define ENXIO		6
#define EAGAIN		11
#define ENOMEM		12
#define EACCES		13
#define EBUSY		16
#define EEXIST		17
#define ENODEV		19
#define EINVAL		22
#define ENOSPC		28
#define EPIPE		32
#define EDOM		33
#define ERANGE		34
#define EBADE		52
#define ENODATA		61
#define EPROTO		71
#define EBADMSG		74
#define EOVERFLOW	75
#define EMSGSIZE	90
#define EPROTONOSUPPORT 93
#define EOPNOTSUPP	95
#define ENETDOWN	100
#define ENETUNREACH	101
#define ECONNABORTED	103
#define ECONNRESET	104
#define ENOBUFS		105
#define EISCONN		106
#define ENOTCONN	107
#define ESHUTDOWN	108
#define ETIMEDOUT	110
#define ECONNREFUSED	111
#define EHOSTDOWN	112
#define EHOSTUNREACH	113
#define EALREADY	114
#define EINPROGRESS	115
#define ESTALE		116
#define EDQUOT		122
#define ECANCELED	125
#define EKEYREVOKED	128
#define EKEYREJECTED	129

#endif
