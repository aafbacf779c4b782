/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols of modules: all of them are in one program. */
#ifndef SIM_LINUX_EXPORT_H
#define SIM_LINUX_EXPORT_H

#define EXPORT_SYMBOL(name)
#define EXPORT_SYMBOL_GPL(name)

#endif
