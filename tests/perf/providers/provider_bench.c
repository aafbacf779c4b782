// SPDX-License-Identifier: BSD-2-Clause
/*
 * How fast a provider's messages are: provider-bench PROVIDER separate|shared
 *
 * Two processes over loopback, with a queue for each direction or one for both,
 * who look for completions all the time. Prints microseconds that 64 bytes take
 * one way, and GB/s of messages of 64 KiB, 32 of them under way.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SMALL_BYTES 64
#define PINGS	    5000
#define LARGE_BYTES (64 * 1024)
#define WINDOW	    32
#define WINDOWS	    200
#define FIRST_PINGS 200

static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;
static struct fid_cq *tx_cq, *rx_cq;
static struct fid_ep *ep;
static uint8_t area[WINDOW * LARGE_BYTES];

static void must(long rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, fi_strerror((int)-rc));
	exit(1);
}
#define MUST(call) must((long)(call), #call)

static struct fi_info *find(const char *provider, const char *port,
			    uint64_t flags)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	hints->fabric_attr->prov_name = strdup(provider);
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG;
	MUST(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", port, flags, hints,
			&info));
	fi_freeinfo(hints);
	MUST(fi_fabric(info->fabric_attr, &fabric, NULL));
	return info;
}

static void open_endpoint(struct fi_info *info, bool shared)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_CONTEXT,
				   .size = 256 };

	MUST(fi_domain(fabric, info, &domain, NULL));
	MUST(fi_cq_open(domain, &attr, &tx_cq, NULL));
	if (shared)
		rx_cq = tx_cq;
	else
		MUST(fi_cq_open(domain, &attr, &rx_cq, NULL));
	MUST(fi_endpoint(domain, info, &ep, NULL));
	MUST(fi_ep_bind(ep, &eq->fid, 0));
	if (shared)
		MUST(fi_ep_bind(ep, &tx_cq->fid, FI_TRANSMIT | FI_RECV));
	else {
		MUST(fi_ep_bind(ep, &tx_cq->fid, FI_TRANSMIT));
		MUST(fi_ep_bind(ep, &rx_cq->fid, FI_RECV));
	}
	MUST(fi_enable(ep));
}

static void expect(uint32_t kind, struct fi_eq_cm_entry *entry)
{
	uint32_t seen = 0;

	MUST(fi_eq_sread(eq, &seen, entry, sizeof(*entry), 10000, 0));
	if (seen != kind)
		exit(1);
}

/* Contexts say which way an operation went, as the queue may not. */
static unsigned int sent, received;

static void look(struct fid_cq *cq)
{
	struct fi_cq_entry entries[16];
	ssize_t n = fi_cq_read(cq, entries, 16);

	if (n == -FI_EAGAIN) {
		sched_yield();
		return;
	}
	MUST(n);
	for (ssize_t i = 0; i < n; i++)
		*(unsigned int *)entries[i].op_context += 1;
}

static void wait_for(unsigned int *count, unsigned int n, struct fid_cq *cq)
{
	while (*count < n)
		look(cq);
	*count -= n;
}

static void post_receives(size_t len, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		MUST(fi_recv(ep, area + i * len, len, NULL, 0, &received));
}

static void send_all(size_t len, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		MUST(fi_send(ep, area + i * len, len, NULL, 0, &sent));
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void ping(bool first, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		post_receives(SMALL_BYTES, 1);
		if (!first)
			wait_for(&received, 1, rx_cq);
		send_all(SMALL_BYTES, 1);
		wait_for(&sent, 1, tx_cq);
		if (first)
			wait_for(&received, 1, rx_cq);
	}
}

/* Each window is answered, so that the next finds its receives. */
static void stream(bool sends)
{
	for (unsigned int i = 0; i < WINDOWS; i++) {
		post_receives(sends ? 1 : LARGE_BYTES, sends ? 1 : WINDOW);
		if (sends) {
			send_all(LARGE_BYTES, WINDOW);
			wait_for(&sent, WINDOW, tx_cq);
			wait_for(&received, 1, rx_cq);
		} else {
			if (!i)
				send_all(1, 1);
			wait_for(&received, WINDOW, rx_cq);
			send_all(1, 1);
			wait_for(&sent, i ? 1 : 2, tx_cq);
		}
	}
}

static void serve(const char *provider, bool shared, int to)
{
	struct fi_info *info = find(provider, "0", FI_SOURCE);
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_eq_cm_entry entry;
	struct sockaddr_in sin;
	size_t len = sizeof(sin);
	struct fid_pep *pep;

	MUST(fi_eq_open(fabric, &attr, &eq, NULL));
	MUST(fi_passive_ep(fabric, info, &pep, NULL));
	MUST(fi_pep_bind(pep, &eq->fid, 0));
	MUST(fi_listen(pep));
	MUST(fi_getname(&pep->fid, &sin, &len));
	MUST(write(to, &sin.sin_port, sizeof(sin.sin_port)));
	expect(FI_CONNREQ, &entry);
	open_endpoint(entry.info, shared);
	MUST(fi_accept(ep, NULL, 0));
	expect(FI_CONNECTED, &entry);
	ping(false, FIRST_PINGS);
	ping(false, PINGS);
	stream(false);
	ping(false, 1);
}

static void connect_to(const char *provider, bool shared, in_port_t port)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_eq_cm_entry entry;
	struct fi_info *info;
	double start, small, large;
	char service[16];

	snprintf(service, sizeof(service), "%u", ntohs(port));
	info = find(provider, service, 0);
	MUST(fi_eq_open(fabric, &attr, &eq, NULL));
	open_endpoint(info, shared);
	MUST(fi_connect(ep, info->dest_addr, NULL, 0));
	expect(FI_CONNECTED, &entry);
	ping(true, FIRST_PINGS);
	start = now();
	ping(true, PINGS);
	small = now() - start;
	post_receives(1, 1);
	wait_for(&received, 1, rx_cq);
	start = now();
	stream(true);
	large = now() - start;
	ping(true, 1);
	printf("%.2f %.3f\n", small / PINGS / 2 * 1e6,
	       (double)WINDOWS * WINDOW * LARGE_BYTES / large / 1e9);
}

int main(int argc, char **argv)
{
	bool shared = argc == 3 && !strcmp(argv[2], "shared");
	in_port_t port;
	int ends[2];
	pid_t child;

	if (argc != 3) {
		fprintf(stderr, "usage: provider-bench PROVIDER "
				"separate|shared\n");
		return 2;
	}
	MUST(pipe(ends));
	child = fork();
	if (!child) {
		serve(argv[1], shared, ends[1]);
		_exit(0);
	}
	MUST(read(ends[0], &port, sizeof(port)));
	connect_to(argv[1], shared, port);
	waitpid(child, NULL, 0);
	return 0;
}
