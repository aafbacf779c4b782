/* SPDX-License-Identifier: BSD-2-Clause */
/* What the settings may declare of the medium: nobody else can know it. */
#ifndef BRICKD_CONFIG_DECLARED_H
#define BRICKD_CONFIG_DECLARED_H

/**
 * enum brick_persistence - what the administrator declares of the medium
 * @BRICK_PERSISTENCE_AUTO: nothing: ask the platform
 * @BRICK_PERSISTENCE_BATTERY: memory that a battery keeps, CPU caches not
 * @BRICK_PERSISTENCE_ASSUME_READBACK: nothing true: offer readback whatever
 *	the platform is, for tests and benchmarks
 */
enum brick_persistence {
	BRICK_PERSISTENCE_AUTO,
	BRICK_PERSISTENCE_BATTERY,
	BRICK_PERSISTENCE_ASSUME_READBACK,
};

/**
 * enum brick_ddio - does what devices write stop in the CPU's caches?
 * @BRICK_DDIO_UNKNOWN: nobody has said; taken for BRICK_DDIO_ON
 * @BRICK_DDIO_ON: what devices write stops there
 * @BRICK_DDIO_OFF: the administrator has switched DDIO off
 */
enum brick_ddio {
	BRICK_DDIO_UNKNOWN,
	BRICK_DDIO_ON,
	BRICK_DDIO_OFF,
};

#endif
