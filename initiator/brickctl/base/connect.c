// SPDX-License-Identifier: BSD-2-Clause
/*
 * Connects to the brick of the settings.
 */
#include <errno.h>
#include <string.h>

#include "initiator/brickctl/base/brickctl.h"

#define TIMEOUT_DEFAULT_MS 10000

static const struct ctl_next connect_nexts[] = {
	{ -EINVAL, "see brickctl --help for how a brick is named" },
	{ -EACCES,
	  "name the client with --client and its key with --key-file" },
	{ -EKEYREJECTED, CTL_KEY_NEXT },
	{ -EKEYREVOKED, "a fencer lets it in again: brickctl admit" },
	{ -EPERM, CTL_UNTRUSTED_NEXT },
	{ -EPROTONOSUPPORT, "use a brickctl of the brick's version" },
	{ -EDQUOT, "end other connections or raise the brick's limits" },
	{ -ENOMEM, "free some memory or raise the limit on locked memory" },
	{ 0, CTL_ADDRESS_NEXT },
};

uint32_t ctl_timeout_ms(const struct ctl *ctl)
{
	return ctl->settings.timeout_ms ? ctl->settings.timeout_ms
					: TIMEOUT_DEFAULT_MS;
}

int ctl_read_key(struct ctl *ctl, uint8_t key[KFBRICK_KEY_BYTES])
{
	int err = kfbrick_key_read(ctl->settings.key_file, key);

	if (err)
		return ctl_fail(ctl, CTL_USAGE, err, "--key-file names another",
				"%s", kfbrick_error(NULL));
	return CTL_DONE;
}

int ctl_connect(struct ctl *ctl)
{
	const struct ctl_settings *s = &ctl->settings;
	struct kfbrick_config config = { .size = sizeof(config) };
	uint8_t key[KFBRICK_KEY_BYTES];
	int err;

	err = ctl_settings_complete(ctl);
	if (err)
		return err;
	config.brick = s->brick;
	config.timeout_ms = s->timeout_ms;
	config.reconnect_ms = s->reconnect_ms;
	config.allow_untrusted_tcp = s->allow_untrusted_tcp;
	if (s->client) {
		err = ctl_read_key(ctl, key);
		if (err)
			return err;
		config.client = s->client;
		config.key = key;
	}
	err = kfbrick_connect(&config, &ctl->k);
	explicit_bzero(key, sizeof(key));
	if (err)
		return ctl_fail_as(ctl,
				   err == -EINVAL || err == -EPERM
					   ? CTL_USAGE
					   : CTL_UNREACHED,
				   err, ctl_next_of(connect_nexts, err),
				   s->brick);
	return CTL_DONE;
}

int ctl_connect_info(struct ctl *ctl, struct kfbrick_info *info)
{
	int status = ctl_connect(ctl);
	int err;

	if (status)
		return status;
	*info = (struct kfbrick_info){ .size = sizeof(*info) };
	err = kfbrick_get_info(ctl->k, info);
	return err ? ctl_fail_call(ctl, err, "%s", ctl->settings.brick)
		   : CTL_DONE;
}
