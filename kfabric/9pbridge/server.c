// SPDX-License-Identifier: BSD-2-Clause
/* kfabric-9p-bridge: the connection to the 9P server. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rdma/fi_errno.h>

#include "bridge.h"
#include "kfabric/9p/k9p_wire.h"

#define HOST_BYTES 256

static int connect_to(int family, const struct sockaddr *address, socklen_t len)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, address, len)) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd;
}

/* HOST:PORT, [ADDRESS]:PORT */
static int connect_host(const char *server)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found, *a;
	const char *colon = strrchr(server, ':');
	char host[HOST_BYTES];
	int fd = -EINVAL, on = 1;
	size_t len;

	if (!colon)
		return -EINVAL;
	len = (size_t)(colon - server);
	if (len > 2 && server[0] == '[' && server[len - 1] == ']') {
		server++;
		len -= 2;
	}
	if (!len || len >= sizeof(host))
		return -EINVAL;
	memcpy(host, server, len);
	host[len] = 0;
	if (getaddrinfo(host, colon + 1, &hints, &found))
		return -EHOSTUNREACH;
	for (a = found; a && fd < 0; a = a->ai_next)
		fd = connect_to(a->ai_family, a->ai_addr, a->ai_addrlen);
	freeaddrinfo(found);
	/* A request is one write: nothing follows that it could wait for. */
	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* Return: a socket, or -errno. */
int bridge_server_connect(const char *server)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = strlen(server) + 1;

	if (server[0] != '/')
		return connect_host(server);
	if (len > sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, server, len);
	return connect_to(AF_UNIX, (struct sockaddr *)&address,
			  sizeof(address));
}

/* A request that the server has whole gives its receive back before the reply is read. */
int bridge_server_write(struct bridge_conn *conn)
{
	struct bridge_message *m;
	int moved = 0, ret;
	ssize_t n;

	while ((m = bridge_queue_first(&conn->requests))) {
		n = send(conn->socket, m->data + m->done, m->len - m->done,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return -errno;
		moved = 1;
		m->done += (size_t)n;
		if (m->done < m->len)
			continue;
		bridge_queue_drop_first(&conn->requests);
		ret = bridge_link_post_receive(conn, m);
		if (ret)
			return ret;
	}
	return moved;
}

static int is_known(struct bridge_conn *conn, struct bridge_message *m)
{
	if (m->len > K9PW_HEADER_BYTES)
		return 0;
	m->len = k9pw_get32(m->data + K9PW_SIZE_AT);
	if (m->len >= K9PW_HEADER_BYTES && m->len <= conn->msize)
		return 0;
	bridge_say("%s: the server at %s has sent a message of %zu bytes",
		   conn->peer, conn->options->server, m->len);
	return -EMSGSIZE;
}

int bridge_server_read(struct bridge_conn *conn)
{
	struct bridge_message *m;
	int moved = 0, ret;
	ssize_t n;

	while (!conn->unsent && (m = bridge_queue_first(&conn->free))) {
		if (!m->done)
			m->len = K9PW_HEADER_BYTES;
		n = recv(conn->socket, m->data + m->done, m->len - m->done,
			 MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			break;
		/* -ENODATA: the server is gone. */
		if (n <= 0)
			return n ? -errno : -ENODATA;
		moved = 1;
		m->done += (size_t)n;
		if (m->done < m->len)
			continue;
		ret = is_known(conn, m);
		if (ret)
			return ret;
		if (m->done < m->len)
			continue;
		bridge_queue_drop_first(&conn->free);
		m->done = 0;
		ret = bridge_link_send(conn, m);
		if (ret == -FI_EAGAIN)
			conn->unsent = m;
		else if (ret)
			return ret;
	}
	return moved;
}
