// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: a client's key, out of the keyrings of whoever attaches.
 *
 * The key is of type "logon", which user space can write and never read, and
 * named "kfbrick:" and something. It is copied: the device needs it for as long
 * as it may have to connect again, when nobody may be there whose keyrings
 * could be searched.
 */
#include <keys/user-type.h>
#include <linux/key.h>

#include "key.h"

#define PREFIX "kfbrick:"

int kfbk_key_get(const char *description, u8 out[KFB_KEY_BYTES])
{
	const struct user_key_payload *payload;
	struct key *key;
	int ret = 0;

	/* Nobody gets another module's secrets sent to a brick. */
	if (strncmp(description, PREFIX, strlen(PREFIX)))
		return -EINVAL;
	key = request_key(&key_type_logon, description, NULL);
	if (IS_ERR(key))
		return PTR_ERR(key);
	down_read(&key->sem);
	payload = user_key_payload_locked(key);
	if (!payload)
		ret = -EKEYREVOKED;
	else if (payload->datalen != KFB_KEY_BYTES)
		ret = -EINVAL;
	else
		memcpy(out, payload->data, KFB_KEY_BYTES);
	up_read(&key->sem);
	key_put(key);
	return ret;
}
