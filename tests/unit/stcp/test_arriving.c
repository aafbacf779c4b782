// SPDX-License-Identifier: BSD-2-Clause
/* Requests that are not whole: how many there may be, and which of them goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "peer.h"
#include "raw.h"
#include "stcp.h"

#define FROM_ONE   32
#define IN_ALL	   256
#define REFUSED	   5
#define STARVES_MS 90

/* Connections that promise a request; the first bytes of it were read. */
static void promise(struct rig *rig, int *fds, int n, uint8_t host)
{
	for (int i = 0; i < n; i++) {
		fds[i] = raw_socket_from(rig, host);
		raw_send(fds[i], "\3", 1);
	}
}

static bool is_open(int fd)
{
	uint8_t byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void of_too_many_requests_from_one_address_the_oldest_goes(void **state)
{
	struct rig *rig = rig_open(true, true);
	int fds[FROM_ONE + 1], other;
	uint8_t byte;

	promise(rig, &other, 1, 2);
	promise(rig, fds, FROM_ONE + 1, 1);
	assert_false(raw_recv(rig, fds[0], &byte, 1));
	/* Nobody else: neither a younger one nor an older one from elsewhere. */
	for (int i = 1; i <= FROM_ONE; i++)
		assert_true(is_open(fds[i]));
	assert_true(is_open(other));
	/* Who says what it wants gets in. */
	rig_connect(rig);
	for (int i = 0; i <= FROM_ONE; i++)
		close(fds[i]);
	close(other);
	rig_close(rig);
}

static void of_too_many_requests_the_oldest_goes(void **state)
{
	struct rig *rig = rig_open(true, true);
	static int fds[IN_ALL + 1];
	uint8_t byte;

	for (int i = 0; i <= IN_ALL; i++)
		promise(rig, &fds[i], 1, (uint8_t)(1 + i % 200));
	assert_false(raw_recv(rig, fds[0], &byte, 1));
	for (int i = 1; i <= IN_ALL; i++)
		assert_true(is_open(fds[i]));
	rig_connect(rig);
	for (int i = 0; i <= IN_ALL; i++)
		close(fds[i]);
	rig_close(rig);
}

static struct sockaddr_storage peer(const char *host)
{
	struct sockaddr_storage out = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&out;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&out;

	out.ss_family = strchr(host, ':') ? AF_INET6 : AF_INET;
	assert_int_equal(inet_pton(out.ss_family, host,
				   out.ss_family == AF_INET
					   ? (void *)&in->sin_addr
					   : (void *)&in6->sin6_addr),
			 1);
	return out;
}

/* Who has a /64 has all its addresses; one of IPv4 is one, however it is told. */
static void a_network_of_ipv6_counts_as_one_peer(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} pairs[] = {
		{ "192.0.2.1", "192.0.2.1", true },
		{ "192.0.2.1", "192.0.2.2", false },
		{ "192.0.2.1", "::ffff:192.0.2.1", true },
		{ "::ffff:192.0.2.1", "::ffff:192.0.2.2", false },
		{ "::ffff:192.0.2.1", "::1", false },
		{ "2001:db8::1", "2001:db8::2", true },
		{ "2001:db8::1", "2001:db8:0:0:8000::", true },
		{ "2001:db8::1", "2001:db8:0:1::1", false },
		{ "192.0.2.1", "2001:db8::1", false },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct sockaddr_storage a = peer(pairs[i].a);
		struct sockaddr_storage b = peer(pairs[i].b);

		assert_int_equal(stcp_same_peer(&a, &b), pairs[i].same);
		assert_int_equal(stcp_same_peer(&b, &a), pairs[i].same);
	}
}

int __real_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);

static atomic_bool descriptors_are_out;
static atomic_uint n_refused;

int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	if (!atomic_load(&descriptors_are_out))
		return __real_accept4(fd, addr, len, flags);
	atomic_fetch_add(&n_refused, 1);
	errno = EMFILE;
	return -1;
}

/* The socket stays readable: a thread that looks again at once does nothing else. */
static void
a_listener_without_descriptors_looks_again_after_a_while(void **state)
{
	struct rig *rig = rig_open(true, true);
	uint64_t before = stcp_starved(), begin_ms = rig_now_ms();
	struct event event;
	int fd;

	stcp_tell_strays(true);
	atomic_store(&descriptors_are_out, true);
	fd = raw_request(rig, TCPW_LITTLE);
	while (atomic_load(&n_refused) < REFUSED)
		rig_step(rig);
	assert_true(rig_now_ms() - begin_ms >= (REFUSED - 1) * STARVES_MS);
	assert_true(stcp_starved() - before >= REFUSED - 1);
	/* It is told once, until there are some again. */
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, 0);
	assert_int_equal(event.err, EMFILE);
	assert_int_equal(event.prov_errno, 0);
	atomic_store(&descriptors_are_out, false);
	/* Who has waited gets in, and who comes later. */
	rig_event(rig, &rig->server, &event);
	assert_int_equal(event.kind, FI_CONNREQ);
	assert_int_equal(
		fi_reject(rig->server.pep, event.info->handle, NULL, 0), 0);
	fi_freeinfo(event.info);
	close(fd);
	rig_connect(rig);
	rig_close(rig);
	/* One that closes while it waits is gone. */
	rig = rig_open(true, true);
	atomic_store(&n_refused, 0);
	atomic_store(&descriptors_are_out, true);
	fd = raw_request(rig, TCPW_LITTLE);
	while (!atomic_load(&n_refused))
		rig_step(rig);
	rig_close(rig);
	atomic_store(&descriptors_are_out, false);
	close(fd);
	stcp_tell_strays(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_listener_without_descriptors_looks_again_after_a_while),
		cmocka_unit_test(
			of_too_many_requests_from_one_address_the_oldest_goes),
		cmocka_unit_test(of_too_many_requests_the_oldest_goes),
		cmocka_unit_test(a_network_of_ipv6_counts_as_one_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
