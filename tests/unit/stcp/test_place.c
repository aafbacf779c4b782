// SPDX-License-Identifier: BSD-2-Clause
/*
 * Registered memory of which a page cannot be had, as of a file that is too short: a
 * peer that writes or reads it loses its connection, the program hears where, and
 * lives.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>

#include "raw.h"
#include "stcp.h"

#define PAGE	   4096U
#define LONG_BYTES (16 * PAGE) /* more than comes with a header */

/* Of the server's memory: the page, and how far behind its beginning that is. */
static uint8_t *missing;
static uint64_t missing_at;

static atomic_bool has_no_call;

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *to,
				unsigned long n_to, const struct iovec *from,
				unsigned long n_from, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to,
				unsigned long n_to, const struct iovec *from,
				unsigned long n_from, unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *to,
				unsigned long n_to, const struct iovec *from,
				unsigned long n_from, unsigned long flags)
{
	if (!atomic_load(&has_no_call))
		return __real_process_vm_readv(pid, to, n_to, from, n_from,
					       flags);
	errno = ENOSYS;
	return -1;
}

static struct rig *open_without_page(void)
{
	struct rig *rig = rig_open(true, true);
	uintptr_t middle = (uintptr_t)rig->server.memory + RIG_MEMORY_BYTES / 2;
	int fd = memfd_create("short", MFD_CLOEXEC);

	/* One in another thread is not for cmocka to jump out of. */
	signal(SIGBUS, SIG_DFL);
	assert_true(fd >= 0);
	missing = (uint8_t *)((middle + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
	missing_at = (uint64_t)(missing - rig->server.memory);
	assert_ptr_equal(mmap(missing, PAGE, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED, fd, 0),
			 missing);
	close(fd);
	return rig;
}

static void close_whole(struct rig *rig, int fd)
{
	close(fd);
	/* The memory goes back to the heap, which may use it again. */
	assert_ptr_equal(mmap(missing, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 missing);
	rig_close(rig);
}

static void *fault_of(const struct rig *rig)
{
	struct stcp_ep_ops *ops;

	assert_int_equal(fi_open_ops(&rig->server.ep->fid, STCP_EP_OPS, 0,
				     (void **)&ops, NULL),
			 0);
	return ops->fault(rig->server.ep);
}

static struct tcpw_hdr rma_of(uint8_t op, uint64_t at, uint64_t bytes)
{
	struct tcpw_hdr hdr = { .op = op,
				.n_segs = 1,
				.segs = { { at, bytes, RIG_KEY } } };

	if (op == TCPW_WRITE)
		hdr.payload_bytes = bytes;
	return hdr;
}

/*
 * From before the page, so that a part of it has its place. What is short comes
 * together with its header.
 */
static void check_write(uint64_t before, uint64_t bytes)
{
	static uint8_t whole[TCPW_HDR_MAX + 2 * LONG_BYTES];
	struct rig *rig = open_without_page();
	int fd = raw_connect(rig, TCPW_LITTLE);
	struct tcpw_hdr hdr =
		rma_of(TCPW_WRITE, missing_at - before, before + bytes);
	int len = tcpw_hdr_encode(&hdr, TCPW_LITTLE, whole);

	assert_null(fault_of(rig));
	assert_true(len > 0);
	memset(whole + len, 0x42, before + bytes);
	raw_send(fd, whole, (size_t)len + before + bytes);
	raw_expect_end(rig, fd);
	assert_ptr_equal(fault_of(rig), missing);
	close_whole(rig, fd);
}

static void a_short_write_to_it_ends_the_connection(void **state)
{
	check_write(0, 64);
	check_write(PAGE / 2, 64);
}

static void so_it_does_where_the_system_has_no_call_for_it(void **state)
{
	atomic_store(&has_no_call, true);
	check_write(0, 64);
	check_write(PAGE / 2, 64);
	atomic_store(&has_no_call, false);
}

static void a_long_write_to_it_ends_the_connection(void **state)
{
	check_write(0, LONG_BYTES);
	/* It is not among the bytes that come with the header. */
	check_write(LONG_BYTES, PAGE);
}

static void a_read_of_it_ends_the_connection(void **state)
{
	struct rig *rig = open_without_page();
	int fd = raw_connect(rig, TCPW_LITTLE);
	struct tcpw_hdr hdr =
		rma_of(TCPW_READ_REQUEST, missing_at - PAGE, LONG_BYTES);

	raw_send_op(fd, TCPW_LITTLE, &hdr, NULL);
	raw_expect_end(rig, fd);
	assert_ptr_equal(fault_of(rig), missing);
	close_whole(rig, fd);
}

static void what_is_beside_it_is_written(void **state)
{
	struct rig *rig = open_without_page();
	int fd = raw_connect(rig, TCPW_LITTLE);
	struct tcpw_hdr hdr = rma_of(TCPW_WRITE, missing_at + PAGE, PAGE);
	struct tcpw_hdr ask = rma_of(TCPW_READ_REQUEST, missing_at + PAGE, 8);
	static uint8_t payload[PAGE];
	uint8_t back[TCPW_HDR_MIN];

	memset(payload, 0x42, sizeof(payload));
	raw_send_op(fd, TCPW_LITTLE, &hdr, payload);
	raw_send_op(fd, TCPW_LITTLE, &ask, NULL);
	memset(payload, 0, sizeof(payload));
	assert_true(raw_recv(rig, fd, back, sizeof(back)));
	assert_true(raw_recv(rig, fd, payload, 8));
	assert_int_equal(payload[7], 0x42);
	assert_int_equal(missing[PAGE], 0x42);
	assert_int_equal(missing[2 * PAGE - 1], 0x42);
	assert_null(fault_of(rig));
	close_whole(rig, fd);
}

/* What a thread of the provider keeps from the program's handlers. */
static int note_mask(void *arg, void *addr, size_t len)
{
	pthread_sigmask(SIG_BLOCK, NULL, arg);
	return 0;
}

static void a_fault_of_its_threads_reaches_the_program(void **state)
{
	struct tcpw_hdr hdr = { .op = TCPW_WRITE,
				.flags = TCPW_F_COMMIT,
				.n_segs = 1,
				.payload_bytes = 8,
				.segs = { { 0, 8, RIG_KEY } } };
	struct rig *rig = rig_open(true, true);
	uint8_t back[TCPW_HDR_MIN];
	struct stcp_domain_ops *ops;
	sigset_t mask;
	int fd = raw_connect(rig, TCPW_LITTLE);

	sigfillset(&mask);
	assert_int_equal(fi_open_ops(&rig->server.domain->fid, STCP_DOMAIN_OPS,
				     0, (void **)&ops, NULL),
			 0);
	assert_int_equal(ops->set_persist(rig->server.domain, note_mask, &mask),
			 0);
	raw_send_op(fd, TCPW_LITTLE, &hdr, "8 bytes");
	assert_true(raw_recv(rig, fd, back, sizeof(back)));
	assert_false(sigismember(&mask, SIGBUS));
	assert_false(sigismember(&mask, SIGSEGV));
	assert_true(sigismember(&mask, SIGTERM));
	close(fd);
	rig_close(rig);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_write_to_it_ends_the_connection),
		cmocka_unit_test(
			so_it_does_where_the_system_has_no_call_for_it),
		cmocka_unit_test(a_long_write_to_it_ends_the_connection),
		cmocka_unit_test(a_read_of_it_ends_the_connection),
		cmocka_unit_test(what_is_beside_it_is_written),
		cmocka_unit_test(a_fault_of_its_threads_reaches_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
