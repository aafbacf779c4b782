// SPDX-License-Identifier: BSD-2-Clause
/* By which interface packets leave, and sockets that keep to one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "rig.h"
#include "stcp.h"
#include "way.h"

#define LOOPBACK "lo"
/* Of no interface: none is counted that far. */
#define NO_INDEX 0x7ffffff0

static struct sockaddr_storage address_of(const char *text)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;
	struct sockaddr_in *in4 = (struct sockaddr_in *)&ss;

	ss.ss_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	assert_int_equal(inet_pton(ss.ss_family, text,
				   ss.ss_family == AF_INET6
					   ? (void *)&in6->sin6_addr
					   : (void *)&in4->sin_addr),
			 1);
	return ss;
}

static void an_address_may_say_itself_that_it_never_leaves(void **state)
{
	static const struct {
		const char *text;
		bool never;
	} all[] = {
		{ "127.0.0.1", true },	  { "127.255.1.2", true },
		{ "::1", true },	  { "::ffff:127.0.0.1", true },
		{ "128.0.0.1", false },	  { "0.0.0.0", false },
		{ "10.0.0.1", false },	  { "::", false },
		{ "fe80::1", false },	  { "::ffff:10.0.0.1", false },
		{ "::127.0.0.1", false },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct sockaddr_storage ss = address_of(all[i].text);

		assert_int_equal(stcp_never_leaves((struct sockaddr *)&ss),
				 all[i].never);
	}
}

static void an_interface_is_found_by_its_name(void **state)
{
	struct stcp_way way;

	assert_int_equal(stcp_way_by(LOOPBACK, &way), 0);
	assert_int_equal(way.index, if_nametoindex(LOOPBACK));
	assert_true(way.is_local);
	assert_string_equal(way.name, LOOPBACK);
	assert_string_equal(way.kind, "");
}

static void one_that_is_not_there_is_none(void **state)
{
	struct stcp_way way = { .index = 7 };

	assert_int_equal(stcp_way_by("nothere0", &way), -ENODEV);
	assert_int_equal(stcp_way_by("", &way), -ENODEV);
	assert_int_equal(stcp_way_by("a-name-that-is-too-long", &way), -ENODEV);
	assert_int_equal(way.index, 7);
}

static void what_is_this_hosts_own_stays_here(void **state)
{
	static const char *const own[] = { "127.0.0.1", "127.9.9.9",
					   "::ffff:127.0.0.1" };

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		struct sockaddr_storage ss = address_of(own[i]);
		struct stcp_way way = { 0 };

		assert_int_equal(stcp_way_to((struct sockaddr *)&ss, &way), 0);
		assert_true(way.is_local);
		assert_int_equal(way.index, if_nametoindex(LOOPBACK));
	}
}

/* Of TEST-NET-1: there is a route to it, or there is none. */
static void what_is_elsewhere_does_not_stay_here(void **state)
{
	struct sockaddr_storage ss = address_of("192.0.2.1");
	struct stcp_way way = { 0 };
	int rc = stcp_way_to((struct sockaddr *)&ss, &way);

	if (rc == -EHOSTUNREACH)
		skip();
	assert_int_equal(rc, 0);
	assert_false(way.is_local);
	assert_int_equal(way.index, if_nametoindex(way.name));
}

/* A listener that keeps to an interface, and what a connection to it comes to. */
static int try_listener(unsigned int interface)
{
	struct rig *rig = rig_open(true, true);
	const struct stcp_pep_ops *ops;
	struct fid_pep *pep;
	struct sockaddr_in name;
	size_t len = sizeof(name);
	int fd, error;

	assert_int_equal(fi_passive_ep(rig->server.fabric, rig->server.info,
				       &pep, NULL),
			 0);
	assert_int_equal(fi_pep_bind(pep, &rig->server.eq->fid, 0), 0);
	assert_int_equal(fi_open_ops(&pep->fid, STCP_PEP_OPS, 0, (void **)&ops,
				     NULL),
			 0);
	assert_int_equal(ops->keep_to(pep, interface), 0);
	assert_int_equal(fi_listen(pep), 0);
	assert_int_equal(ops->keep_to(pep, interface), -FI_EOPBADSTATE);
	assert_int_equal(fi_getname(&pep->fid, &name, &len), 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	error = connect(fd, (struct sockaddr *)&name, sizeof(name)) ? errno : 0;
	close(fd);
	fi_close(&pep->fid);
	rig_close(rig);
	return error;
}

static void a_listener_takes_what_comes_by_its_interface(void **state)
{
	assert_int_equal(try_listener(if_nametoindex(LOOPBACK)), 0);
}

static void it_refuses_what_comes_by_another_one(void **state)
{
	assert_int_equal(try_listener(NO_INDEX), ECONNREFUSED);
}

static void keep_client(struct rig *rig, unsigned int interface)
{
	const struct stcp_ep_ops *ops;

	rig_endpoint(&rig->client, rig->client.info);
	assert_int_equal(fi_open_ops(&rig->client.ep->fid, STCP_EP_OPS, 0,
				     (void **)&ops, NULL),
			 0);
	assert_int_equal(ops->keep_to(rig->client.ep, interface), 0);
}

static void a_connection_goes_by_the_interface_that_it_keeps_to(void **state)
{
	struct rig *rig = rig_open(true, true);
	const struct stcp_ep_ops *ops;

	keep_client(rig, if_nametoindex(LOOPBACK));
	assert_int_equal(fi_connect(rig->client.ep, rig->client.info->dest_addr,
				    NULL, 0),
			 0);
	assert_int_equal(fi_open_ops(&rig->client.ep->fid, STCP_EP_OPS, 0,
				     (void **)&ops, NULL),
			 0);
	assert_int_equal(ops->keep_to(rig->client.ep, 1), -FI_EOPBADSTATE);
	rig_close(rig);
}

static void a_connection_does_not_go_by_another_one(void **state)
{
	struct rig *rig = rig_open(true, true);

	keep_client(rig, NO_INDEX);
	assert_int_not_equal(fi_connect(rig->client.ep,
					rig->client.info->dest_addr, NULL, 0),
			     0);
	rig_close(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			an_address_may_say_itself_that_it_never_leaves),
		cmocka_unit_test(an_interface_is_found_by_its_name),
		cmocka_unit_test(one_that_is_not_there_is_none),
		cmocka_unit_test(what_is_this_hosts_own_stays_here),
		cmocka_unit_test(what_is_elsewhere_does_not_stay_here),
		cmocka_unit_test(a_listener_takes_what_comes_by_its_interface),
		cmocka_unit_test(it_refuses_what_comes_by_another_one),
		cmocka_unit_test(
			a_connection_goes_by_the_interface_that_it_keeps_to),
		cmocka_unit_test(a_connection_does_not_go_by_another_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
