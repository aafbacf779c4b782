// SPDX-License-Identifier: BSD-2-Clause
/* The file of the admin socket. */
#include "brickd/admin/admin_socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 8

static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memcpy(address.sun_path, path, strlen(path) + 1);
	return address;
}

/* Return: 0: nobody does; -EADDRINUSE: somebody does; another -errno. */
static int is_listened_on(const char *path)
{
	struct sockaddr_un address = address_of(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno
								       : 0;
	close(fd);
	if (rc == -ECONNREFUSED)
		return 0;
	/* EAGAIN: its queue is full, so somebody owns it. */
	return !rc || rc == -EAGAIN ? -EADDRINUSE : rc;
}

static int remove_stale(const char *path, char *err, size_t err_len)
{
	struct stat st;
	int rc;

	if (lstat(path, &st)) {
		rc = errno == ENOENT ? 0 : -errno;
		if (rc)
			snprintf(err, err_len, "admin socket %s: %s", path,
				 strerror(-rc));
		return rc;
	}
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(err, err_len,
			 "admin socket %s: something else is there; it is left "
			 "alone",
			 path);
		return -EEXIST;
	}
	rc = is_listened_on(path);
	if (rc) {
		snprintf(err, err_len, "admin socket %s: %s", path,
			 rc == -EADDRINUSE ? "another process listens on it"
					   : strerror(-rc));
		return rc;
	}
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

/* The socket's own mode is what bind() gives the file: at no time more. */
static int bind_private(int fd, const char *path, struct stat *made)
{
	struct sockaddr_un address = address_of(path);
	int rc;

	if (fchmod(fd, S_IRUSR | S_IWUSR) ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	if (!lstat(path, made) && !listen(fd, BACKLOG))
		return 0;
	rc = -errno;
	unlink(path);
	return rc;
}

int brick_admin_socket_open(const char *path, struct stat *made, char *err,
			    size_t err_len)
{
	int fd, rc;

	rc = remove_stale(path, err, err_len);
	if (rc)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = fd < 0 ? -errno : bind_private(fd, path, made);
	if (!rc)
		return fd;
	snprintf(err, err_len, "admin socket %s: %s", path, strerror(-rc));
	if (fd >= 0)
		close(fd);
	return rc;
}

void brick_admin_socket_remove(const char *path, const struct stat *made)
{
	struct stat st;

	if (!lstat(path, &st) && st.st_dev == made->st_dev &&
	    st.st_ino == made->st_ino && S_ISSOCK(st.st_mode))
		unlink(path);
}
