/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for a while. */
#ifndef SIM_LINUX_DELAY_H
#define SIM_LINUX_DELAY_H

void msleep(unsigned int ms);

#endif
