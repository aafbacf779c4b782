// SPDX-License-Identifier: BSD-2-Clause
/*
 * The admin socket: one line of JSON there, one back, within the timeout.
 */
#include "initiator/brickctl/admin/admin.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "initiator/brickctl/base/clock.h"

#define ANSWER_FIRST_BYTES 4096
/* Pages of sessions; no brick has as many. */
#define PAGES_MAX 4096

static const struct ctl_next admin_nexts[] = {
	{ -EACCES, "run it as root or as the user that brickd runs as" },
	{ -EPERM, "run it as root or as the user that brickd runs as" },
	{ -ENAMETOOLONG, "--admin names another" },
	{ 0,
	  "see that brickd runs here, that its configuration has admin = PATH, and name that path with --admin" },
};

static int fail_admin(struct ctl *ctl, const struct ctl_admin *a, int status,
		      int error)
{
	return ctl_fail(ctl, status, error, ctl_next_of(admin_nexts, error),
			"admin socket %s: %s", a->path, strerror(-error));
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, rc;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int ctl_admin_open(struct ctl *ctl, struct ctl_admin *a)
{
	a->path = ctl->settings.admin ? ctl->settings.admin : CTL_ADMIN_DEFAULT;
	a->next = "brickctl sessions shows what there is";
	a->next_unsupported = "use a brickd of this brickctl's version";
	a->timeout_ms = ctl_timeout_ms(ctl);
	a->fd = connect_to(a->path);
	if (a->fd >= 0)
		return 0;
	return fail_admin(ctl, a,
			  a->fd == -ENAMETOOLONG ? CTL_USAGE : CTL_UNREACHED,
			  a->fd);
}

void ctl_admin_close(struct ctl_admin *a)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

static int wait_for_socket(const struct ctl_admin *a, short events,
			   uint64_t deadline_ms)
{
	struct pollfd p = { .fd = a->fd, .events = events };
	uint64_t now;
	int n;

	do {
		now = ctl_now_ms();
		if (now >= deadline_ms)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)(deadline_ms - now));
	} while (!n || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : 0;
}

static int send_all(const struct ctl_admin *a, const char *bytes, size_t len,
		    uint64_t deadline_ms)
{
	int rc = 0;

	while (len && !rc) {
		ssize_t n = send(a->fd, bytes, len, MSG_NOSIGNAL);

		if (n >= 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			rc = wait_for_socket(a, POLLOUT, deadline_ms);
		} else if (errno == EPIPE) {
			/* Turned away: the reason is there to be read. */
			return 0;
		} else if (errno != EINTR) {
			rc = -errno;
		}
	}
	return rc;
}

/* Return: a line without its newline, for free(), or NULL with the error. */
static char *receive_line(const struct ctl_admin *a, uint64_t deadline_ms,
			  int *error)
{
	size_t room = ANSWER_FIRST_BYTES, len = 0;
	char *line = malloc(room), *more;

	*error = line ? 0 : -ENOMEM;
	while (!*error) {
		ssize_t n = recv(a->fd, line + len, room - len, 0);

		if (n > 0) {
			len += (size_t)n;
			if (line[len - 1] == '\n') {
				line[len - 1] = '\0';
				return line;
			}
		} else if (!n) {
			*error = -ECONNRESET;
		} else if (errno == EAGAIN) {
			*error = wait_for_socket(a, POLLIN, deadline_ms);
		} else if (errno != EINTR) {
			*error = -errno;
		}
		if (*error || len < room)
			continue;
		room *= 2;
		more = room > CTL_ADMIN_ANSWER_MAX_BYTES ? NULL
							 : realloc(line, room);
		if (more)
			line = more;
		else
			*error = -EMSGSIZE;
	}
	free(line);
	return NULL;
}

static int exchange_line(struct ctl_admin *a, const char *request,
			 struct json_object **answer)
{
	uint64_t deadline_ms = ctl_now_ms() + a->timeout_ms;
	char *line;
	int rc;

	rc = send_all(a, request, strlen(request), deadline_ms);
	if (!rc)
		rc = send_all(a, "\n", 1, deadline_ms);
	if (rc)
		return rc;
	line = receive_line(a, deadline_ms, &rc);
	if (!line)
		return rc;
	*answer = json_tokener_parse(line);
	free(line);
	if (json_object_is_type(*answer, json_type_object))
		return 0;
	json_object_put(*answer);
	*answer = NULL;
	return -EPROTO;
}

int ctl_admin_ask(struct ctl *ctl, struct ctl_admin *a,
		  struct json_object *request, struct json_object **answer)
{
	const char *next = a->next;
	struct json_object *ok = NULL;
	int status, rc;

	*answer = NULL;
	rc = exchange_line(a, ctl_json_line(request), answer);
	json_object_put(request);
	if (rc) {
		status = ctl->command->changes ? CTL_UNKNOWN : CTL_UNREACHED;
		return fail_admin(ctl, a, status, rc);
	}
	json_object_object_get_ex(*answer, "ok", &ok);
	if (json_object_get_boolean(ok))
		return 0;
	rc = -(int)ctl_admin_count(*answer, "errno");
	if (rc == -EUSERS)
		next = "end other brickctl top or stats";
	else if (rc == -EPERM)
		next = ctl_next_of(admin_nexts, rc);
	else if (rc == -EOPNOTSUPP)
		next = a->next_unsupported;
	status = rc == -EPERM || rc == -EUSERS ? CTL_UNREACHED : CTL_REFUSED;
	status = ctl_fail(ctl, status, rc, next, "%s",
			  ctl_admin_text(*answer, "error"));
	json_object_put(*answer);
	*answer = NULL;
	return status;
}

struct json_object *ctl_admin_request(const char *op)
{
	struct json_object *request = json_object_new_object();

	ctl_json_text(request, "op", op);
	return request;
}

int ctl_admin_pages(struct ctl *ctl, struct ctl_admin *a, const char *op,
		    struct json_object **list)
{
	/* What a request calls the "next" of the page before. */
	const char *from = strcmp(op, "clients") ? "after" : "from";
	struct json_object *all = json_object_new_array();
	struct json_object *next = NULL;
	int status = 0;
	int i;

	for (i = 0; !status && i < PAGES_MAX; i++) {
		struct json_object *request = ctl_admin_request(op);
		struct json_object *answer, *page;
		size_t n, j;

		if (next)
			json_object_object_add(request, from, next);
		next = NULL;
		status = ctl_admin_ask(ctl, a, request, &answer);
		if (status)
			break;
		page = ctl_admin_list(answer, op, &n);
		for (j = 0; j < n; j++)
			json_object_array_add(
				all, json_object_get(json_object_array_get_idx(
					     page, j)));
		json_object_object_get_ex(answer, "next", &next);
		next = json_object_get(next);
		json_object_put(answer);
		if (!next)
			break;
	}
	json_object_put(next);
	if (status)
		json_object_put(all);
	else
		*list = all;
	return status;
}

int ctl_admin_all(struct ctl *ctl, const char *op, struct json_object **list)
{
	struct ctl_admin a;
	int status = ctl_admin_open(ctl, &a);

	if (status)
		return status;
	status = ctl_admin_pages(ctl, &a, op, list);
	ctl_admin_close(&a);
	return status;
}

struct json_object *ctl_admin_list(struct json_object *object, const char *name,
				   size_t *n)
{
	struct json_object *list = NULL;

	json_object_object_get_ex(object, name, &list);
	if (!json_object_is_type(list, json_type_array))
		list = NULL;
	*n = list ? json_object_array_length(list) : 0;
	return list;
}

const char *ctl_admin_text(struct json_object *object, const char *name)
{
	struct json_object *member = NULL;

	json_object_object_get_ex(object, name, &member);
	return json_object_is_type(member, json_type_string)
		       ? json_object_get_string(member)
		       : "";
}

uint64_t ctl_admin_count(struct json_object *object, const char *name)
{
	struct json_object *member = NULL;

	json_object_object_get_ex(object, name, &member);
	return json_object_is_type(member, json_type_int)
		       ? json_object_get_uint64(member)
		       : 0;
}

double ctl_admin_number(struct json_object *object, const char *name)
{
	struct json_object *member = NULL;

	json_object_object_get_ex(object, name, &member);
	return json_object_get_double(member);
}

uint64_t ctl_admin_session_ops(struct json_object *session)
{
	struct json_object *counts = NULL;
	uint64_t sum = 0;

	json_object_object_get_ex(session, "ops", &counts);
	if (!json_object_is_type(counts, json_type_object))
		return 0;
	json_object_object_foreach(counts, op, count) {
		(void)op;
		sum += json_object_get_uint64(count);
	}
	return sum;
}
