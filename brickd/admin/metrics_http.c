// SPDX-License-Identifier: BSD-2-Clause
/*
 * The metrics page over HTTP.
 *
 * libmicrohttpd's timeout is one of silence: a client that sends a byte now
 * and then would keep its connection. So each connection also has an end by
 * the clock, and answers say "close".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "brickd/admin/metrics.h"
#include "brickd/admin/view.h"
#include "brickd/base/clock.h"
#include "brickd/base/util.h"

#define CONTENT_TYPE \
	"application/openmetrics-text; version=1.0.0; charset=utf-8"
#define REQUEST_MAX_BYTES (16 << 10)
#define SILENCE_S	  5

struct visitor {
	struct MHD_Connection *connection; /* NULL: free */
	uint64_t begin_ms;
};

struct brick_metrics {
	struct brick_view *view;
	struct brick_source source;
	struct MHD_Daemon *daemon;
	unsigned int port;
	struct visitor visitors[BRICK_METRICS_CONNECTIONS_MAX];
};

static enum MHD_Result send_text(struct MHD_Connection *connection,
				 unsigned int status, const char *type,
				 char *text, size_t len,
				 enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(len, text, mode);
	enum MHD_Result result;

	if (!response) {
		if (mode == MHD_RESPMEM_MUST_FREE)
			free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW,
					"GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_error(struct MHD_Connection *connection,
				  unsigned int status, const char *sentence)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s\n", sentence);

	return send_text(connection, status, "text/plain", line, (size_t)n,
			 MHD_RESPMEM_MUST_COPY);
}

static enum MHD_Result
answer_request(void *cls, struct MHD_Connection *connection, const char *url,
	       const char *method, const char *version, const char *upload_data,
	       size_t *upload_data_size, void **request)
{
	const struct brick_metrics *m = cls;
	size_t len;
	char *page;

	if (strcmp(method, MHD_HTTP_METHOD_GET) &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD))
		return send_error(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				  "this page can only be read");
	if (strcmp(url, "/metrics"))
		return send_error(connection, MHD_HTTP_NOT_FOUND,
				  "there is only /metrics");
	page = brick_metrics_text(m->view, &len);
	if (!page)
		return MHD_NO;
	return send_text(connection, MHD_HTTP_OK, CONTENT_TYPE, page, len,
			 MHD_RESPMEM_MUST_FREE);
}

static void note_connection(void *cls, struct MHD_Connection *connection,
			    void **context,
			    enum MHD_ConnectionNotificationCode code)
{
	struct brick_metrics *m = cls;
	struct MHD_Connection *look_for =
		code == MHD_CONNECTION_NOTIFY_STARTED ? NULL : connection;

	for (int i = 0; i < BRICK_METRICS_CONNECTIONS_MAX; i++) {
		struct visitor *v = &m->visitors[i];

		if (v->connection != look_for)
			continue;
		v->connection = look_for ? NULL : connection;
		v->begin_ms = brick_now_ms();
		return;
	}
}

/* Is there more to do at once? Others get their turns before. */
static bool is_hurried(const struct brick_metrics *m)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	return MHD_get_timeout(m->daemon, &wait_ms) == MHD_YES && !wait_ms;
}

static void httpd_ready(struct brick_source *source)
{
	MHD_run(brick_container_of(source, struct brick_metrics, source)
			->daemon);
}

bool brick_metrics_before_wait(struct brick_view *view)
{
	struct brick_metrics *m = view->metrics;

	if (!m || !is_hurried(m))
		return false;
	MHD_run(m->daemon);
	return is_hurried(m);
}

void brick_metrics_tick(struct brick_view *view)
{
	struct brick_metrics *m = view->metrics;
	uint64_t now_ms = brick_now_ms();

	if (!m)
		return;
	for (int i = 0; i < BRICK_METRICS_CONNECTIONS_MAX; i++) {
		const struct visitor *v = &m->visitors[i];
		const union MHD_ConnectionInfo *info;

		if (!v->connection ||
		    now_ms - v->begin_ms < BRICK_METRICS_TURN_MS)
			continue;
		info = MHD_get_connection_info(
			v->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		if (info)
			shutdown(info->connect_fd, SHUT_RDWR);
	}
	MHD_run(m->daemon);
}

bool brick_metrics_url(const struct brick_view *view, char url[BRICK_URL_BYTES])
{
	const struct brick_address *a = &view->config->metrics;
	bool v6 = strchr(a->host, ':');

	if (!view->metrics)
		return false;
	snprintf(url, BRICK_URL_BYTES, "http://%s%s%s:%u/metrics",
		 v6 ? "[" : "", a->host, v6 ? "]" : "", view->metrics->port);
	return true;
}

/* ---- start and stop ---- */

/* libmicrohttpd's own complaints; peers cause most of them. */
__attribute__((format(printf, 2, 0))) static void
complain(void *cls, const char *fmt, va_list ap)
{
	struct brick_metrics *m = cls;
	char line[256];

	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\r\n")] = '\0';
	brick_log_limited(&m->view->net->lines[BRICK_LINES_METRICS], LOG_DEBUG,
			  NULL, "metrics: %s", line);
}

static struct MHD_Daemon *start_httpd(struct brick_metrics *m,
				      const struct sockaddr *address, bool v6)
{
	const struct MHD_OptionItem options[] = {
		{ MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)complain, m },
		{ MHD_OPTION_SOCK_ADDR, 0, (void *)(uintptr_t)address },
		{ MHD_OPTION_CONNECTION_LIMIT, BRICK_METRICS_CONNECTIONS_MAX,
		  NULL },
		{ MHD_OPTION_CONNECTION_TIMEOUT, SILENCE_S, NULL },
		{ MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_MAX_BYTES, NULL },
		{ MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)note_connection, m },
		{ MHD_OPTION_END, 0, NULL },
	};

	return MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_ERROR_LOG |
					(v6 ? MHD_USE_IPv6 : 0),
				0, NULL, NULL, answer_request, m,
				MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

static int open_page(struct brick_metrics *m, char *err, size_t err_len)
{
	const struct brick_address *a = &m->view->config->metrics;
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				  .ai_socktype = SOCK_STREAM };
	const union MHD_DaemonInfo *info;
	struct addrinfo *found;

	if (getaddrinfo(a->host, a->service, &hints, &found)) {
		snprintf(err, err_len, "metrics: %s is no address", a->host);
		return -EINVAL;
	}
	errno = 0;
	m->daemon =
		start_httpd(m, found->ai_addr, found->ai_family == AF_INET6);
	freeaddrinfo(found);
	if (!m->daemon) {
		int rc = errno ? -errno : -EIO;

		snprintf(err, err_len, "metrics on %s port %s: %s", a->host,
			 a->service, strerror(-rc));
		return rc;
	}
	info = MHD_get_daemon_info(m->daemon, MHD_DAEMON_INFO_BIND_PORT);
	m->port = info ? info->port : 0;
	info = MHD_get_daemon_info(m->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	m->source.fd = info ? info->epoll_fd : -1;
	m->source.ready = httpd_ready;
	m->source.kind = BRICK_BUSY_ADMIN;
	return 0;
}

int brick_metrics_start(struct brick_view *view, char *err, size_t err_len)
{
	struct brick_metrics *m;
	int rc;

	if (!view->config->has_metrics)
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->view = view;
	rc = open_page(m, err, err_len);
	if (rc)
		goto free_metrics;
	rc = brick_loop_add(view->loop, &m->source);
	if (rc)
		goto stop_daemon;
	view->metrics = m;
	return 0;

stop_daemon:
	MHD_stop_daemon(m->daemon);
free_metrics:
	free(m);
	return rc;
}

void brick_metrics_stop(struct brick_view *view)
{
	struct brick_metrics *m = view->metrics;

	if (!m)
		return;
	brick_loop_del(view->loop, &m->source);
	MHD_stop_daemon(m->daemon);
	free(m);
	view->metrics = NULL;
}
