/* SPDX-License-Identifier: BSD-2-Clause */
/* Processors. */
#ifndef SIM_LINUX_CPUMASK_H
#define SIM_LINUX_CPUMASK_H

#define num_online_cpus() 4U

#endif
