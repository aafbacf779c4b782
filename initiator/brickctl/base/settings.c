// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which brick, as whom: from the command line, then the environment, then the
 * user's configuration file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/base/brickctl.h"

#define WHY_BYTES 512

char *ctl_user_file(const char *name)
{
	const char *folder = getenv("XDG_CONFIG_HOME");
	char *path = NULL;
	int len;

	if (folder && *folder == '/') {
		len = asprintf(&path, "%s/kfbrick/%s", folder, name);
	} else {
		folder = getenv("HOME");
		if (!folder || *folder != '/')
			return NULL;
		len = asprintf(&path, "%s/.config/kfbrick/%s", folder, name);
	}
	return len < 0 ? NULL : path;
}

static int read_config(struct ctl *ctl)
{
	char *path = ctl_user_file("brickctl.conf");
	char why[WHY_BYTES] = "";
	int err;

	if (!path)
		return CTL_DONE;
	err = ctl_config_read(path, &ctl->settings, why, sizeof(why));
	free(path);
	if (!err || err == -ENOENT || err == -ENOTDIR)
		return CTL_DONE;
	return ctl_fail(ctl, CTL_USAGE, err, "see brickctl.conf(5)", "%s", why);
}

int ctl_settings_complete(struct ctl *ctl)
{
	struct ctl_settings *s = &ctl->settings;
	const char *brick = getenv("KFBRICK");
	int status;
	char *url;

	if (!s->brick && brick && *brick)
		s->brick = strdup(brick);
	status = read_config(ctl);
	if (status)
		return status;
	if (!s->brick)
		return ctl_fail(
			ctl, CTL_USAGE, -EDESTADDRREQ,
			"give --brick URL, set KFBRICK or write brickctl.conf",
			"no brick is named");
	if (!s->client && s->key_file)
		return ctl_fail(ctl, CTL_USAGE, -EINVAL, "add --client NAME",
				"key file %s: a key without a client's name",
				s->key_file);
	if (s->client && !s->key_file)
		s->key_file = ctl_user_file("client.key");
	if (s->client && !s->key_file)
		return ctl_fail(ctl, CTL_USAGE, -EINVAL, "add --key-file FILE",
				"client %s: no key file", s->client);
	/* A plain host goes over the fabric of the configuration. */
	if (!s->fabric || strstr(s->brick, "://"))
		return CTL_DONE;
	if (asprintf(&url, "%s://%s", s->fabric, s->brick) < 0)
		return ctl_no_memory(ctl);
	free(s->brick);
	s->brick = url;
	return CTL_DONE;
}

void ctl_settings_fini(struct ctl_settings *settings)
{
	free(settings->brick);
	free(settings->fabric);
	free(settings->client);
	free(settings->key_file);
	free(settings->admin);
	*settings = (struct ctl_settings){ 0 };
}
