/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one place that knows kernel versions: 6.1 to current.
 *
 * Spells what newer kernels have, for older ones.
 */
#ifndef KFABRIC_COMPAT_H
#define KFABRIC_COMPAT_H

#include <linux/version.h>

#endif /* KFABRIC_COMPAT_H */
