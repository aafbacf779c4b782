/* SPDX-License-Identifier: BSD-2-Clause */
/* What a fault's numbers mean to those who choose it and to what it does: see faults.h. */
#ifndef TESTS_SIM_FAULTS_PRIV_H
#define TESTS_SIM_FAULTS_PRIV_H

#include "faults.h"
#include "initiator/core/blocks/kfb_disk.h"
#include "initiator/core/session/kfb_client.h"

/* What a fault waits for: a state of a client, or, behind those, of a disk. */
#define SIM_IS_LOSSY (KFB_CLIENT_STATES + KFB_DISK_LOSSY)
#define SIM_IS_DEAD  (KFB_CLIENT_STATES + KFB_DISK_DEAD)
/* Behind those: a disk undoes a mapping; the same of one that is lossy. */
#define SIM_IS_UNDOING (KFB_CLIENT_STATES + KFB_DISK_STATES)
#define SIM_IS_LOSING  (SIM_IS_UNDOING + 1)
/* The new session of a client, or of a disk, has its mappings, and is not LIVE yet. */
#define SIM_IS_HALF_MADE (SIM_IS_LOSING + 1)
/* A client was not answered in time, or a mapping is given back that is of no use. */
#define SIM_IS_UNANSWERED (SIM_IS_HALF_MADE + 1)
/* A sync of a brick's file has left something to the next one. */
#define SIM_IS_LEFT_BEHIND (SIM_IS_UNANSWERED + 1)
/* A range of such a file is zero, and was not synced. */
#define SIM_IS_ZEROED (SIM_IS_LEFT_BEHIND + 1)
/* Behind those: a brick is in enum sim_moment. */
#define SIM_IS_MOMENT (SIM_IS_ZEROED + 1)

/* Bits of @which: what an administrator orders ends in the middle, by the power. */
#define SIM_AMID_BIT  18
#define SIM_POWER_BIT 19
/* What comes in the middle is followed by another one, in the start behind it. */
#define SIM_AGAIN_BIT 17
/* Either may be among operations on the head of the store, of which there are few. */
#define SIM_HEAD_BIT	   10
#define SIM_HEAD_AGAIN_BIT 9
/* The second one is the power, or one of four is the end of brickd alone. */
#define SIM_DEATH_BIT 11

/* There is no sense in what concerns files where there are none. */
bool sim_fault_has_sense(const struct sim_brick *brick,
			 enum sim_fault_kind kind);
/* It befalls at its time, or when what it waits for is there. */
void sim_fault_arm(struct sim_fault *f);
/* A world begins: nothing of the one before is waited for, or has happened. */
void sim_faults_forget(void);

#endif
