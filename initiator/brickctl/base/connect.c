// SPDX-License-Identifier: BSD-2-Clause
/*
 * Connects to the brick of the settings.
 */
#include <errno.h>
#include <string.h>

#include "initiator/brickctl/base/brickctl.h"

static const char *connect_next_of(int error)
{
	switch (error) {
	case -EINVAL:
		return "see brickctl --help for how a brick is named";
	case -EACCES:
		return "name the client with --client and its key with --key-file";
	case -EKEYREJECTED:
		return "see that --client and its key are those of the brick's configuration; the brick's log says which is wrong";
	case -EKEYREVOKED:
		return "a fencer lets it in again: brickctl admit";
	case -EPERM:
		return CTL_UNTRUSTED_NEXT;
	case -EPROTONOSUPPORT:
		return "use a brickctl of the brick's version";
	case -EDQUOT:
		return "end other connections or raise the brick's limits";
	case -ENOMEM:
		return "free some memory or raise the limit on locked memory";
	default:
		return "see that the brick runs and that this is its address";
	}
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
				   err, connect_next_of(err), s->brick);
	return CTL_DONE;
}
