// SPDX-License-Identifier: BSD-2-Clause
/* In place of metrics_http.c, where brickd is built without libmicrohttpd. */
#include <errno.h>
#include <stdio.h>

#include "brickd/admin/metrics.h"
#include "brickd/admin/view.h"

int brick_metrics_start(struct brick_view *view, char *err, size_t err_len)
{
	if (!view->config->has_metrics)
		return 0;
	snprintf(err, err_len, "this brickd was built without metrics");
	return -ENOSYS;
}

void brick_metrics_stop(struct brick_view *view)
{
}

void brick_metrics_tick(struct brick_view *view)
{
}

bool brick_metrics_before_wait(struct brick_view *view)
{
	return false;
}

bool brick_metrics_url(const struct brick_view *view, char url[BRICK_URL_BYTES])
{
	return false;
}
