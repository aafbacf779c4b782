/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots need nothing of it. */
