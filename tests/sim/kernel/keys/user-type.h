/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys that are bytes. */
#ifndef SIM_KEYS_USER_TYPE_H
#define SIM_KEYS_USER_TYPE_H

#include <linux/key.h>

struct user_key_payload {
	unsigned short datalen;
	char data[];
};

extern struct key_type key_type_logon;

static inline const struct user_key_payload *
user_key_payload_locked(const struct key *key)
{
	return key->payload;
}

#endif
