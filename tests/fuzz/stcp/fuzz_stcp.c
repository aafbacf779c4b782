// SPDX-License-Identifier: BSD-2-Clause
/*
 * A whole endpoint of stcp over a socketpair: what its peer sends, and what its
 * own user does meanwhile, is the input. The user moves the data
 * (FI_PROGRESS_MANUAL), and after a shutdown the fuzzer does in the place of the
 * provider's threads, so that one thread does all of it.
 *
 * Demanded, beside what the sanitizers see: memory that may only be read stays
 * as it is, and so does memory whose registration was closed; what was posted
 * completes exactly once; nothing stays allocated.
 *
 * The first byte is the peer's byte order; then come commands, each a byte and
 * what it needs: enum command.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kfabric/user/impl.h"
#include "kfabric/user/stcp.h"
#include "shard_inline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

#define AREA_BYTES   256
#define BUFFER_BYTES 64
#define POSTED_MAX   32
#define COMMANDS_MAX 64

enum command {
	FEED, /* a length, and as many bytes from the peer */
	RECEIVE,
	SEND,
	WRITE,
	READ,
	HEAR, /* the peer reads what came */
	CLOSE_KEY,
	SHUT_DOWN,
	LATE, /* a deadline passes */
	N_COMMANDS
};

/* Keys that seeds and mutations find easily. */
enum {
	KEY_OPEN = 1,
	KEY_READ_ONLY = 2,
	KEY_CLOSED = 3,
};

struct input {
	const uint8_t *at;
	size_t left;
};

struct world {
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_eq *eq;
	struct fid_ep *ep;
	struct fid_mr *mrs[4];
	uint8_t *areas[4];
	uint8_t *buffers;
	unsigned int n_posted;
	unsigned int n_done;
	int peer;
};

static struct fid_fabric *fabric;
static struct fi_info *info;

static void expect(int truth)
{
	if (!truth)
		abort();
}

static uint8_t byte(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

static void open_fabric(void)
{
	struct fi_info *hints = fi_allocinfo();

	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->tx_attr->size = POSTED_MAX;
	hints->rx_attr->size = POSTED_MAX;
	expect(!stcp_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	expect(!stcp_fabric(info->fabric_attr, &fabric, NULL));
	fi_freeinfo(hints);
}

static int persist(void *arg, void *addr, size_t len)
{
	/* What is made durable is memory that may be written. */
	for (size_t i = 0; i < len; i++)
		((volatile uint8_t *)addr)[i] = ((uint8_t *)addr)[i];
	return len % 5 == 3 ? -EIO : 0;
}

static void open_objects(struct world *w)
{
	static const uint64_t access[] = { 0, FI_REMOTE_READ | FI_REMOTE_WRITE,
					   FI_REMOTE_READ, FI_REMOTE_WRITE };
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_DATA,
				 .wait_obj = FI_WAIT_NONE,
				 .size = 2 * POSTED_MAX };
	struct fi_eq_attr eq = { .wait_obj = FI_WAIT_NONE };
	struct stcp_domain_ops *ops;

	expect(!fi_domain(fabric, info, &w->domain, NULL));
	expect(!fi_open_ops(&w->domain->fid, STCP_DOMAIN_OPS, 0, (void **)&ops,
			    NULL));
	expect(!ops->set_persist(w->domain, persist, NULL));
	expect(!fi_cq_open(w->domain, &cq, &w->cq, NULL));
	expect(!fi_eq_open(fabric, &eq, &w->eq, NULL));
	w->buffers = calloc(POSTED_MAX, BUFFER_BYTES);
	for (uint64_t key = KEY_OPEN; key <= KEY_CLOSED; key++) {
		w->areas[key] = calloc(1, AREA_BYTES);
		expect(!fi_mr_reg(w->domain, w->areas[key], AREA_BYTES,
				  access[key], 0, key, 0, &w->mrs[key], NULL));
	}
}

/* A request as if it had come in over a socket. */
static struct stcp_request *request(int fd, enum tcpw_order order)
{
	struct stcp_request *r = calloc(1, sizeof(*r));
	uint8_t bytes[TCPW_CM_MAX], *to;
	int n = tcpw_cm_encode(TCPW_CM_REQUEST, order, NULL, 0, bytes);
	uint32_t want;

	tcpw_cm_rx_init(&r->cm, false);
	for (int at = 0; at < n && (want = tcpw_cm_rx_want(&r->cm, &to));
	     at += (int)want) {
		memcpy(to, bytes + at, want);
		expect(tcpw_cm_rx_fed(&r->cm, want) == TCPW_OK);
	}
	r->fid.fclass = FI_CLASS_CONNREQ;
	r->source.fd = fd;
	r->fabric = stcp_container_of(fabric, struct stcp_fabric, fid);
	LIST_INSERT_HEAD(&r->fabric->requests, r, link);
	return r;
}

static void connect_them(struct world *w, enum tcpw_order order)
{
	uint8_t answer[TCPW_CM_HEADER_BYTES];
	int ends[2];

	expect(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
	w->peer = ends[0];
	info->handle = &request(ends[1], order)->fid;
	expect(!fi_endpoint(w->domain, info, &w->ep, NULL));
	info->handle = NULL;
	expect(!fi_ep_bind(w->ep, &w->eq->fid, 0));
	expect(!fi_ep_bind(w->ep, &w->cq->fid, FI_TRANSMIT | FI_RECV));
	expect(!fi_enable(w->ep));
	expect(!fi_accept(w->ep, NULL, 0));
	expect(recv(w->peer, answer, sizeof(answer), 0) == sizeof(answer));
}

static void collect(struct world *w)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_data_entry entry;
	ssize_t n;

	while ((n = fi_cq_read(w->cq, &entry, 1)) != -FI_EAGAIN) {
		if (n == -FI_EAVAIL)
			expect(fi_cq_readerr(w->cq, &err, 0) == 1);
		else
			expect(n == 1);
		w->n_done++;
	}
	expect(w->n_done <= w->n_posted);
}

static void feed(struct world *w, struct input *in)
{
	size_t n = byte(in);

	n = n < in->left ? n : in->left;
	/* It may have gone, and may be full: then the rest is lost. */
	(void)!send(w->peer, in->at, n, MSG_NOSIGNAL);
	in->at += n;
	in->left -= n;
}

static void post(struct world *w, enum command what, uint8_t how)
{
	uint8_t *buffer;
	size_t len = how % (BUFFER_BYTES + 1);
	struct iovec iov;
	struct fi_rma_iov rma = { how, len, how % 3 };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .rma_iov = &rma,
				  .rma_iov_count = 1 };
	uint64_t flags =
		FI_COMPLETION | (how & 0x80 ? FI_DELIVERY_COMPLETE : 0);
	ssize_t rc;

	if (w->n_posted == POSTED_MAX)
		return;
	buffer = w->buffers + (size_t)w->n_posted * BUFFER_BYTES;
	iov = (struct iovec){ buffer, len };
	if (what == RECEIVE)
		rc = fi_recv(w->ep, buffer, len, NULL, 0, NULL);
	else if (what == SEND)
		rc = fi_send(w->ep, buffer, len, NULL, 0, NULL);
	else if (what == WRITE)
		rc = fi_writemsg(w->ep, &msg, flags);
	else
		rc = fi_readmsg(w->ep, &msg, FI_COMPLETION);
	w->n_posted += !rc;
}

static void hear(struct world *w)
{
	uint8_t bytes[4096];

	while (recv(w->peer, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static void close_key(struct world *w, uint64_t key)
{
	if (!w->mrs[key])
		return;
	expect(!fi_close(&w->mrs[key]->fid));
	w->mrs[key] = NULL;
	/* From here on not a byte lands. */
	memset(w->areas[key], 0x5a, AREA_BYTES);
}

static bool is_all(const uint8_t *area, uint8_t value)
{
	return area[0] == value && !memcmp(area, area + 1, AREA_BYTES - 1);
}

static void check_areas(const struct world *w)
{
	for (int key = KEY_OPEN; key <= KEY_CLOSED; key++) {
		if (!w->mrs[key])
			expect(is_all(w->areas[key], 0x5a));
		else if (key == KEY_READ_ONLY)
			expect(is_all(w->areas[key], 0));
	}
}

static void command(struct world *w, struct input *in)
{
	enum command what = byte(in) % N_COMMANDS;

	switch (what) {
	case FEED:
		feed(w, in);
		break;
	case HEAR:
		hear(w);
		break;
	case CLOSE_KEY:
		close_key(w, KEY_OPEN + byte(in) % 3);
		break;
	case SHUT_DOWN:
		(void)fi_shutdown(w->ep, 0);
		break;
	case LATE:
		shard_inline_late();
		break;
	default:
		post(w, what, byte(in));
		break;
	}
	shard_inline_serve();
	collect(w);
}

static void close_objects(struct world *w)
{
	expect(!fi_close(&w->ep->fid));
	expect(shard_inline_idle());
	collect(w);
	expect(w->n_done == w->n_posted);
	check_areas(w);
	for (int key = KEY_OPEN; key <= KEY_CLOSED; key++) {
		close_key(w, (uint64_t)key);
		free(w->areas[key]);
	}
	expect(!fi_close(&w->cq->fid));
	expect(!fi_close(&w->eq->fid));
	expect(!fi_close(&w->domain->fid));
	free(w->buffers);
	close(w->peer);
}

/* An input allocates little and frees all: most of the time went there. */
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=4:malloc_context_size=2";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct world w = { 0 };

	if (!fabric)
		open_fabric();
	open_objects(&w);
	connect_them(&w, byte(&in) & 1 ? TCPW_BIG : TCPW_LITTLE);
	for (int i = 0; i < COMMANDS_MAX && in.left; i++)
		command(&w, &in);
	close_objects(&w);
	return 0;
}
