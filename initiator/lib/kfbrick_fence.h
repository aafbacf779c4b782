/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libkfbrick: keeping other clients out of a brick, for clients that its settings
 * give the role fencer. A part of kfbrick.h, which includes it.
 */
#ifndef KFBRICK_FENCE_H
#define KFBRICK_FENCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kfbrick;

/* Of a client's name, with the NUL. */
#define KFBRICK_CLIENT_BYTES 41

/**
 * struct kfbrick_client - another client of the brick
 * @size: sizeof(struct kfbrick_client), set by the caller
 * @name: of the client, as the brick's settings have it
 * @is_fenced: the client is kept out, also by a brick that starts anew
 * @is_fencer: the client may keep others out
 * @n_sessions: sessions of the client, also those that are ending
 */
struct kfbrick_client {
	size_t size;
	char name[KFBRICK_CLIENT_BYTES];
	uint8_t is_fenced;
	uint8_t is_fencer;
	uint32_t n_sessions;
};

/**
 * kfbrick_fence - keep a client out, and be sure of it
 * @k: connection of a fencer
 * @client: the other client's name
 *
 * When this returns 0 the brick has written down that the client is kept out, its
 * sessions have ended, and no byte that it has sent lands any more. It is 0, too,
 * when the client had no session, or was fenced before. After any other return it
 * may be fenced or not: calling it again does no harm.
 *
 * Context: control call; blocks up to the timeout.
 * Return: 0, -EACCES (this client is no fencer), -ENOENT (the brick knows no such
 * client), -EINVAL (no name, or this client itself), -EOPNOTSUPP (the brick is
 * older, or keeps no fences), -EDQUOT (too many), -EIO (the brick cannot write it
 * down for sure: ask again).
 */
int kfbrick_fence(struct kfbrick *k, const char *client);

/**
 * kfbrick_admit - let a client in again
 * @k: connection of a fencer
 * @client: the other client's name
 *
 * Context: control call; blocks up to the timeout.
 * Return: as kfbrick_fence(); 0, too, when it was not fenced.
 */
int kfbrick_admit(struct kfbrick *k, const char *client);

/**
 * kfbrick_get_client - is a client fenced, and has it sessions?
 * @k: connection of a fencer
 * @name: the other client's name
 * @client: the caller has set its size; filled on success
 *
 * Context: control call; blocks up to the timeout.
 * Return: 0, -EACCES (this client is no fencer), -ENOENT (the brick knows no such
 * client), -EINVAL (no name, or no size), -EOPNOTSUPP (the brick is older).
 */
int kfbrick_get_client(struct kfbrick *k, const char *name,
		       struct kfbrick_client *client);

/**
 * kfbrick_next_client - the first client whose name is greater
 * @k: connection of a fencer
 * @after: a name that need not exist; "" for the first of all
 * @client: the caller has set its size; filled on success
 *
 * Context: control call; blocks up to the timeout.
 * Return: as kfbrick_get_client(); -ENOENT: there are no more.
 */
int kfbrick_next_client(struct kfbrick *k, const char *after,
			struct kfbrick_client *client);

#ifdef __cplusplus
}
#endif

#endif
