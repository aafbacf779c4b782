/* SPDX-License-Identifier: BSD-2-Clause */
/* brickctl --admin PATH list mapped. */
#ifndef BRICKCTL_LIST_HOLDERS_H
#define BRICKCTL_LIST_HOLDERS_H

#include "initiator/brickctl/base/brickctl.h"

/**
 * ctl_list_holders - list what is mapped with who has it, for administrators
 * @ctl: reports what is wrong
 *
 * Return: the status to exit with.
 */
int ctl_list_holders(struct ctl *ctl);

#endif
