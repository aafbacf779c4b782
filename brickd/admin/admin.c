// SPDX-License-Identifier: BSD-2-Clause
/*
 * The admin socket: clients, lines in, replies out.
 *
 * A client is either read from or written to, never both: while a reply is
 * under way nothing more is read. That bounds what it can make brickd hold.
 */
#include "brickd/admin/admin.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "brickd/admin/admin_line.h"
#include "brickd/admin/admin_ops.h"
#include "brickd/admin/admin_parts.h"
#include "brickd/admin/admin_put.h"
#include "brickd/admin/admin_socket.h"
#include "brickd/admin/view.h"
#include "brickd/base/clock.h"
#include "brickd/base/util.h"

/* Requests of one client before others get their turn. */
#define REQUESTS_MAX 8

/*
 * struct client - one connection
 * @uid: who it is
 * @turn_ms: when its turn, or its pause, began
 * @is_last: nothing more is read; it goes when its lines are answered
 * @is_failed: nor are more lines answered
 * @line: what it sent
 * @reply: what it gets, @reply_len bytes, @sent of them gone; NULL: nothing
 * @stats: makes what comes behind @reply; NULL: nothing does
 */
struct client {
	struct brick_admin *admin;
	struct brick_source source;
	uid_t uid;
	uint64_t turn_ms;
	bool is_last;
	bool is_failed;
	struct brick_admin_line line;
	char *reply;
	size_t reply_len;
	size_t sent;
	struct brick_admin_stats *stats;
};

struct brick_admin {
	struct brick_view *view;
	struct brick_source source;
	struct stat made;
	struct client *clients[BRICK_ADMIN_CLIENTS_MAX]; /* NULL: free */
};

/* Where a client is listed, or with NULL a free place; NULL: nowhere. */
static struct client **find_client(struct brick_admin *admin,
				   const struct client *c)
{
	for (int i = 0; i < BRICK_ADMIN_CLIENTS_MAX; i++)
		if (admin->clients[i] == c)
			return &admin->clients[i];
	return NULL;
}

static void client_close(struct client *c)
{
	struct client **place = find_client(c->admin, c);

	brick_loop_del(c->admin->view->loop, &c->source);
	if (place)
		*place = NULL;
	close(c->source.fd);
	free(c->reply);
	free(c->stats);
	free(c);
}

/* ---- replies ---- */

static struct json_object *reply_failure(int error, const char *why)
{
	struct json_object *reply = json_object_new_object();

	json_object_object_add(reply, "ok", json_object_new_boolean(false));
	brick_admin_put_text(reply, "error", why);
	brick_admin_put_count(reply, "errno", (uint64_t)-error);
	return reply;
}

/* Return: bytes with the newline, for free(); NULL: too long or no memory. */
static char *reply_text(struct json_object *reply, size_t *len)
{
	const char *text = json_object_to_json_string_length(
		reply, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE,
		len);
	char *copy;

	if (!text || *len >= BRICK_ADMIN_REPLY_MAX_BYTES)
		return NULL;
	copy = malloc(*len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, *len);
	copy[(*len)++] = '\n';
	return copy;
}

static void reply_with(struct client *c, struct json_object *reply)
{
	c->sent = 0;
	c->turn_ms = brick_now_ms();
	c->reply = reply_text(reply, &c->reply_len);
	json_object_put(reply);
	if (!c->reply)
		c->is_failed = true;
}

static void answer_failure(struct client *c, int error, const char *why)
{
	brick_count(&c->admin->view->counters->admin_refused);
	reply_with(c, reply_failure(error, why));
	c->is_failed = true;
}

/* The next piece of a reply; others have their turns before the one behind it. */
static void queue_piece(struct client *c)
{
	c->sent = 0;
	c->reply = brick_admin_stats_next(c->stats, &c->reply_len);
	if (!c->reply)
		c->is_failed = true;
	if (!c->reply || brick_admin_stats_are_all(c->stats)) {
		free(c->stats);
		c->stats = NULL;
	}
}

static void queue_answer(struct client *c, size_t len)
{
	struct brick_view *view = c->admin->view;
	struct brick_admin_request request;
	struct json_object *reply;
	const char *why = "";
	int rc;

	rc = brick_admin_request_parse(c->line.buf, len, &request, &why);
	if (rc == -EBADMSG) {
		answer_failure(c, rc, why);
		return;
	}
	brick_count(&view->counters->admin_requests);
	if (!rc && request.op == BRICK_ADMIN_STATS) {
		c->turn_ms = brick_now_ms();
		c->stats = brick_admin_stats_begin(view);
		if (c->stats)
			queue_piece(c);
		else
			c->is_failed = true;
		return;
	}
	reply = json_object_new_object();
	json_object_object_add(reply, "ok", json_object_new_boolean(true));
	if (!rc)
		rc = brick_admin_op(view, c->uid, &request, reply, &why);
	if (rc) {
		json_object_put(reply);
		reply = reply_failure(rc, why);
	}
	reply_with(c, reply);
}

/* ---- moving bytes ---- */

/* Return: false when the client has to go. */
static bool send_some(struct client *c)
{
	ssize_t n = send(c->source.fd, c->reply + c->sent,
			 c->reply_len - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	c->sent += (size_t)n;
	if (c->sent < c->reply_len)
		return true;
	free(c->reply);
	c->reply = NULL;
	if (!c->stats)
		c->turn_ms = brick_now_ms();
	return true;
}

/* Return: false when the client has to go. */
static bool receive_some(struct client *c)
{
	struct brick_admin_line *line = &c->line;
	ssize_t n = recv(c->source.fd, line->buf + line->len,
			 sizeof(line->buf) - line->len, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!n)
		c->is_last = true;
	if (n && !line->len)
		c->turn_ms = brick_now_ms();
	line->len += (size_t)n;
	return true;
}

/* Answers the next line. Return: was there one? */
static bool next_line(struct client *c)
{
	size_t n = brick_admin_line_end(&c->line);

	if (c->is_failed)
		return false;
	if (!n && brick_admin_line_is_too_long(&c->line)) {
		answer_failure(c, -EMSGSIZE,
			       "the line is longer than 4096 bytes");
		return true;
	}
	if (!n)
		return false;
	queue_answer(c, n - 1);
	brick_admin_line_drop(&c->line, n);
	return true;
}

/* Whole lines that wait are a reason to come back at once. */
static bool has_more(const struct client *c)
{
	return c->reply || c->stats ||
	       (!c->is_failed && brick_admin_line_end(&c->line));
}

/* Return: false when the client has to go. */
static bool serve_client(struct client *c)
{
	bool more = true;

	if (!has_more(c) && !receive_some(c))
		return false;
	for (int i = 0; more && i < REQUESTS_MAX; i++) {
		if (!c->reply && c->stats)
			queue_piece(c);
		else if (!c->reply)
			more = next_line(c);
		if (c->reply && !send_some(c))
			return false;
		if (c->reply || c->stats)
			break;
	}
	if ((c->is_last || c->is_failed) && !has_more(c))
		return false;
	brick_loop_want_write(c->admin->view->loop, &c->source, has_more(c));
	return true;
}

static void client_ready(struct brick_source *source)
{
	struct client *c = brick_container_of(source, struct client, source);

	if (!serve_client(c))
		client_close(c);
}

/* ---- clients ---- */

static void turn_away(struct brick_admin *admin, int fd, int error,
		      const char *why)
{
	struct json_object *object = reply_failure(error, why);
	char *text;
	size_t len;

	brick_count(&admin->view->counters->admin_refused);
	text = reply_text(object, &len);
	/* A new socket has room for it; if not, closing says enough. */
	if (text)
		(void)send(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	free(text);
	json_object_put(object);
	close(fd);
}

static void admit_client(struct brick_admin *admin, int fd, uid_t uid)
{
	struct client **place = find_client(admin, NULL), *c;

	if (!place) {
		turn_away(admin, fd, -EUSERS, "too many clients");
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		close(fd);
		return;
	}
	c->admin = admin;
	c->uid = uid;
	c->turn_ms = brick_now_ms();
	c->source.fd = fd;
	c->source.ready = client_ready;
	c->source.kind = BRICK_BUSY_ADMIN;
	if (brick_loop_add(admin->view->loop, &c->source)) {
		close(fd);
		free(c);
		return;
	}
	*place = c;
}

static void listener_ready(struct brick_source *source)
{
	struct brick_admin *admin =
		brick_container_of(source, struct brick_admin, source);
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	int fd = accept4(source->fd, (struct sockaddr *)&from, &len,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct ucred peer;

	if (fd < 0)
		return;
	len = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		turn_away(admin, fd, -EPERM, "who you are is not known");
	else if (peer.uid && peer.uid != geteuid())
		turn_away(admin, fd, -EPERM,
			  "only root and the user that brickd runs as may ask");
	else
		admit_client(admin, fd, peer.uid);
}

/* ---- the whole ---- */

int brick_admin_start(struct brick_view *view, char *err, size_t err_len)
{
	const char *path = view->config->admin;
	struct brick_admin *admin;
	int rc;

	if (!path)
		return 0;
	admin = calloc(1, sizeof(*admin));
	if (!admin)
		return -ENOMEM;
	admin->view = view;
	rc = brick_admin_socket_open(path, &admin->made, err, err_len);
	if (rc < 0)
		goto free_admin;
	admin->source.fd = rc;
	admin->source.ready = listener_ready;
	admin->source.kind = BRICK_BUSY_ADMIN;
	rc = brick_loop_add(view->loop, &admin->source);
	if (rc)
		goto close_socket;
	view->admin = admin;
	return 0;

close_socket:
	brick_admin_socket_remove(path, &admin->made);
	close(admin->source.fd);
free_admin:
	free(admin);
	return rc;
}

void brick_admin_stop(struct brick_view *view)
{
	struct brick_admin *admin = view->admin;

	if (!admin)
		return;
	for (int i = 0; i < BRICK_ADMIN_CLIENTS_MAX; i++)
		if (admin->clients[i])
			client_close(admin->clients[i]);
	brick_loop_del(view->loop, &admin->source);
	brick_admin_socket_remove(view->config->admin, &admin->made);
	close(admin->source.fd);
	free(admin);
	view->admin = NULL;
}

void brick_admin_tick(struct brick_view *view)
{
	uint64_t now_ms = brick_now_ms(), limit_ms;

	for (int i = 0; view->admin && i < BRICK_ADMIN_CLIENTS_MAX; i++) {
		struct client *c = view->admin->clients[i];

		if (!c)
			continue;
		limit_ms = c->reply || c->stats || c->line.len
				   ? BRICK_ADMIN_TURN_MS
				   : BRICK_ADMIN_IDLE_MS;
		if (now_ms - c->turn_ms < limit_ms)
			continue;
		brick_count(&view->counters->admin_refused);
		client_close(c);
	}
}
