/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Error numbers of kfabric: the kernel's own, and the few that only fabrics
 * have.
 *
 * Functions return 0 or a count on success and a negative number on failure.
 * Completion and event entries carry the positive number. The fabric-only
 * numbers have libfabric's values; they never reach user space as an errno.
 */
#ifndef KFABRIC_FI_ERRNO_H
#define KFABRIC_FI_ERRNO_H

#include <linux/errno.h>

#define FI_SUCCESS	 0
#define FI_EINTR	 EINTR
#define FI_EIO		 EIO
#define FI_EAGAIN	 EAGAIN
#define FI_ENOMEM	 ENOMEM
#define FI_EACCES	 EACCES
#define FI_EBUSY	 EBUSY
#define FI_ENODEV	 ENODEV
#define FI_EINVAL	 EINVAL
#define FI_ENOSPC	 ENOSPC
#define FI_ENOSYS	 ENOSYS
#define FI_ENODATA	 ENODATA
#define FI_EMSGSIZE	 EMSGSIZE
#define FI_EOPNOTSUPP	 EOPNOTSUPP
#define FI_EADDRINUSE	 EADDRINUSE
#define FI_EADDRNOTAVAIL EADDRNOTAVAIL
#define FI_ECONNABORTED	 ECONNABORTED
#define FI_ECONNRESET	 ECONNRESET
#define FI_ECONNREFUSED	 ECONNREFUSED
#define FI_ENOTCONN	 ENOTCONN
#define FI_ESHUTDOWN	 ESHUTDOWN
#define FI_ETIMEDOUT	 ETIMEDOUT
#define FI_ECANCELED	 ECANCELED
#define FI_EHOSTUNREACH	 EHOSTUNREACH
#define FI_EREMOTEIO	 EREMOTEIO
#define FI_ENOBUFS	 ENOBUFS

/* Numbers that have no kernel counterpart. */
#define FI_EOTHER      256 /* the provider error number says more */
#define FI_ETOOSMALL   257 /* the buffer given cannot hold the answer */
#define FI_EOPBADSTATE 258 /* the object is not in a state for this call */
#define FI_EAVAIL      259 /* an error entry is next: call readerr */
#define FI_EBADFLAGS   260 /* a flag that this call does not know */
#define FI_ENOEQ       261 /* an event queue must be bound first */
#define FI_EDOMAIN     262 /* the objects belong to different domains */
#define FI_ENOCQ       263 /* a completion queue must be bound first */
#define FI_ETRUNC      265 /* a message was longer than its receive */
#define FI_ENOAV       267 /* an address vector must be bound first */

#endif /* KFABRIC_FI_ERRNO_H */
