/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A mark off the medium: what is written to a store's file may be lost.
 *
 * It is set when a sync has failed, and taken away when the store's next start
 * has raised the power epoch. The medium has a mark, too (instance.h), but the
 * medium is what has failed. This one lies in the runtime directory, a file
 * system in memory: it need not outlive the boot, because the page cache does
 * not, and after another boot a stop that was not clean raises the epoch in any
 * case. Where that directory cannot be written it lies beside the store.
 *
 * Context: any thread; may block.
 */
#ifndef BRICKD_MEDIA_MEDIA_MARK_H
#define BRICKD_MEDIA_MEDIA_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/kfb_wire.h"

/* Where the runtime directory is unless systemd's RUNTIME_DIRECTORY says. */
#define BRICK_MARK_DIR "/run/brickd"

/**
 * brick_mark_set - remember that writes to a store may be lost
 * @store: absolute path of its file, without links
 * @why: a line for whoever reads the mark
 *
 * Return: 0, or -errno: it could be written nowhere.
 */
int brick_mark_set(const char *store, const char *why);

/* Is there one, wherever it may be? */
bool brick_mark_is_set(const char *store);

/* The loss has been told. */
void brick_mark_clear(const char *store);

/**
 * brick_mark_set_cold - remember that a store's file was found out of memory
 * @store: as for brick_mark_set()
 *
 * Another mark, of whoever is about to read the file: if he is killed he leaves
 * pages of it in memory, which are no sign that it is the same mount.
 *
 * Return: 0, or -errno: it could be written nowhere.
 */
int brick_mark_set_cold(const char *store);

/* Was it, since the last start? */
bool brick_mark_is_cold(const char *store);

/* A start has drawn its conclusion. */
void brick_mark_clear_cold(const char *store);

/**
 * brick_mark_loss - remember that a file system has lost a write
 * @fs_id: as brick_media_fsid() has it, 0: nobody knows it
 *
 * A file system says so once, and not whose write it was: all stores on it have
 * to be told. Only the runtime directory has this mark.
 *
 * Return: 0, or -errno.
 */
int brick_mark_loss(uint64_t fs_id);

/* Is there a loss that the clients of this store have not been told? */
bool brick_mark_has_loss(uint64_t fs_id, const uint8_t uuid[KFB_UUID_BYTES]);

/* They have, or this store has lost nothing. */
void brick_mark_loss_told(uint64_t fs_id, const uint8_t uuid[KFB_UUID_BYTES]);

#endif
