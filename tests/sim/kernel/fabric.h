/* SPDX-License-Identifier: BSD-2-Clause */
/* The provider of kfabric that reaches the simulated fabric. */
#ifndef SIM_KERNEL_FABRIC_H
#define SIM_KERNEL_FABRIC_H

/* Its name, as kfabric and the control device call it. */
#define KM_FABRIC "sim"

int km_fabric_init(void);

#endif
