// SPDX-License-Identifier: BSD-2-Clause
/*
 * A brick for tests: the fabric side. fake_answer.c has the answers.
 */
#include <poll.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_impl.h"

#define POLL_MS 100

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fake brick: %s failed\n", what);
	abort();
}

static struct fi_info *get_info(const char *port)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_info *info = NULL;

	hints->caps = FI_MSG | FI_RMA;
	hints->mode = FI_CONTEXT;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->mr_mode = 0;
	hints->fabric_attr->prov_name = strdup("tcp");
	must(!fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", port, FI_SOURCE, hints,
			 &info),
	     "fi_getinfo");
	fi_freeinfo(hints);
	return info;
}

static void listen_on_any_port(struct fake_brick *b)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	struct sockaddr_in name;
	size_t len = sizeof(name);

	b->info = get_info("0");
	must(!fi_fabric(b->info->fabric_attr, &b->fabric, NULL), "fi_fabric");
	must(!fi_eq_open(b->fabric, &eq_attr, &b->eq, NULL), "fi_eq_open");
	must(!fi_control(&b->eq->fid, FI_GETWAIT, &b->eq_fd), "eq fd");
	must(!fi_passive_ep(b->fabric, b->info, &b->pep, NULL), "passive ep");
	must(!fi_pep_bind(b->pep, &b->eq->fid, 0), "bind");
	must(!fi_listen(b->pep), "fi_listen");
	must(!fi_getname(&b->pep->fid, &name, &len), "fi_getname");
	snprintf(b->url, sizeof(b->url), "tcp://127.0.0.1:%u",
		 ntohs(name.sin_port));
}

/* Return: false: the client has gone, and libfabric has heard of it. */
static bool post_receive(struct fake_brick *b, unsigned int i)
{
	b->ctx[i].index = i;
	return !fi_recv(b->ep, b->rx[i], sizeof(b->rx[i]), NULL, 0,
			&b->ctx[i].fi);
}

static void open_endpoint(struct fake_brick *b, struct fi_info *info)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG,
				      .wait_obj = FI_WAIT_FD,
				      .size = 512 };
	unsigned int i;

	must(!fi_domain(b->fabric, info, &b->domain, NULL), "fi_domain");
	must(!fi_mr_reg(b->domain, b->memory, FAKE_BYTES,
			FI_REMOTE_READ | FI_REMOTE_WRITE, 0, FAKE_KEY, 0,
			&b->mr, NULL),
	     "fi_mr_reg");
	must(!fi_cq_open(b->domain, &cq_attr, &b->cq, NULL), "fi_cq_open");
	must(!fi_control(&b->cq->fid, FI_GETWAIT, &b->cq_fd), "cq fd");
	must(!fi_endpoint(b->domain, info, &b->ep, NULL), "fi_endpoint");
	must(!fi_ep_bind(b->ep, &b->eq->fid, 0), "bind eq");
	must(!fi_ep_bind(b->ep, &b->cq->fid, FI_TRANSMIT | FI_RECV), "bind cq");
	must(!fi_enable(b->ep), "fi_enable");
	for (i = 0; i < FAKE_RX; i++)
		must(post_receive(b, i), "fi_recv");
}

void fake_close_connection(struct fake_brick *b)
{
	if (!b->ep)
		return;
	fi_shutdown(b->ep, 0);
	fi_close(&b->ep->fid);
	fi_close(&b->cq->fid);
	fi_close(&b->mr->fid);
	fi_close(&b->domain->fid);
	b->ep = NULL;
	b->n_held = 0;
}

static void refuse(struct fake_brick *b, struct fi_info *info, uint16_t status)
{
	struct kfb_reject reject = {
		.status = status,
		.version_min = KFB_VERSION,
		.version_max = KFB_VERSION,
	};
	uint8_t data[KFB_REJECT_BYTES];

	kfb_encode_reject(&reject, data, sizeof(data));
	fi_reject(b->pep, info->handle, data, sizeof(data));
}

static void answer_ignored(struct fake_brick *b)
{
	if (!b->ignored)
		return;
	fi_reject(b->pep, b->ignored->handle, NULL, 0);
	fi_freeinfo(b->ignored);
	b->ignored = NULL;
}

static void connection_request(struct fake_brick *b, struct fi_info *info,
			       const void *data, size_t len)
{
	uint16_t status = b->rules.reject_status;
	struct kfb_hello hello;

	if (b->rules.no_answer) {
		/* Kept: its handle is freed by an answer only. */
		answer_ignored(b);
		b->ignored = info;
		return;
	}
	if (kfb_decode_hello(data, (uint32_t)len, &hello))
		status = KFB_ST_MALFORMED;
	if (!status && hello.session_id && atomic_exchange(&b->rules.forget, 0))
		status = KFB_ST_STALE;
	b->n_hellos++;
	if (status) {
		refuse(b, info, status);
		fi_freeinfo(info);
		return;
	}
	fake_close_connection(b);
	if (!hello.session_id)
		b->session_id++;
	memcpy(b->hello, data, sizeof(b->hello));
	fake_make_accept(b, &hello);
	open_endpoint(b, info);
	if (b->rules.foreign_accept)
		fi_accept(b->ep, "hello", 5);
	else
		fi_accept(b->ep, b->accept, sizeof(b->accept));
	fi_freeinfo(info);
}

static void read_eq(struct fake_brick *b)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t bytes[sizeof(struct fi_eq_cm_entry) + 256];
	} cm;
	struct fi_eq_err_entry error = { 0 };
	uint32_t event;
	ssize_t n;

	while ((n = fi_eq_read(b->eq, &event, &cm, sizeof(cm), 0)) !=
	       -FI_EAGAIN) {
		if (n == -FI_EAVAIL)
			fi_eq_readerr(b->eq, &error, 0);
		else if (n < 0)
			break;
		else if (event == FI_CONNREQ)
			connection_request(b, cm.entry.info, cm.entry.data,
					   (size_t)n - sizeof(cm.entry));
		else if (event == FI_SHUTDOWN && b->ep &&
			 cm.entry.fid == &b->ep->fid)
			fake_close_connection(b);
	}
}

void fake_send(struct fake_brick *b, const void *data, size_t len)
{
	struct fake_ctx *ctx = &b->ctx[FAKE_RX + b->next_tx];
	uint8_t *copy = b->tx[b->next_tx];

	b->next_tx = (b->next_tx + 1) % FAKE_TX;
	memcpy(copy, data, len);
	ctx->index = FAKE_RX;
	while (fi_send(b->ep, copy, len, NULL, 0, &ctx->fi) == -FI_EAGAIN)
		fi_cq_read(b->cq, NULL, 0);
}

static void read_cq(struct fake_brick *b)
{
	struct fi_cq_msg_entry entry;
	struct fi_cq_err_entry error = { 0 };
	ssize_t n;

	while (b->ep && (n = fi_cq_read(b->cq, &entry, 1)) != -FI_EAGAIN) {
		struct fake_ctx *ctx = entry.op_context;
		uint8_t copy[KFB_REQ_MAX_BYTES];

		if (n < 0) {
			fi_cq_readerr(b->cq, &error, 0);
			fake_close_connection(b);
			return;
		}
		if (ctx->index >= FAKE_RX)
			continue;
		memcpy(copy, b->rx[ctx->index], entry.len);
		if (!post_receive(b, ctx->index)) {
			fake_close_connection(b);
			return;
		}
		fake_answer(b, copy, (uint32_t)entry.len);
	}
}

static void wait_for_news(struct fake_brick *b)
{
	struct pollfd fds[] = {
		{ .fd = b->eq_fd, .events = POLLIN },
		{ .fd = b->stop_pipe[0], .events = POLLIN },
		{ .fd = b->ep ? b->cq_fd : -1, .events = POLLIN },
	};
	struct fid *fid = b->ep ? &b->cq->fid : NULL;

	if (fid && fi_trywait(b->fabric, &fid, 1) == -FI_EAGAIN)
		return;
	/* Held replies wait for the test, which tells through an atomic. */
	poll(fds, 3, b->n_held ? 1 : POLL_MS);
}

static void *run(void *arg)
{
	struct fake_brick *b = arg;

	while (!b->stop) {
		read_eq(b);
		if (b->ep)
			read_cq(b);
		if (b->ep)
			fake_answer_held(b);
		wait_for_news(b);
	}
	fake_close_connection(b);
	answer_ignored(b);
	return NULL;
}

struct fake_brick *fake_brick_start(void)
{
	struct fake_brick *b;
	unsigned int i;

	setenv("FI_MR_CACHE_MAX_COUNT", "0", 0);
	setenv("IPATH_NO_BACKTRACE", "1", 0);
	setenv("HFI_NO_BACKTRACE", "1", 0);
	b = calloc(1, sizeof(*b));
	must(b != NULL, "calloc");
	b->memory = mmap(NULL, FAKE_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(b->memory != MAP_FAILED, "mmap");
	for (i = 0; i < KFB_KEY_BYTES; i++)
		b->key[i] = (uint8_t)(i * 7 + 1);
	memset(b->uuid, 0x5a, sizeof(b->uuid));
	b->rules.flush_mode = KFB_FLUSH_MESSAGE;
	must(!pthread_mutex_init(&b->lock, NULL), "mutex");
	must(!pipe(b->stop_pipe), "pipe");
	listen_on_any_port(b);
	must(!pthread_create(&b->thread, NULL, run, b), "pthread_create");
	return b;
}

void fake_brick_stop(struct fake_brick *b)
{
	b->stop = true;
	must(write(b->stop_pipe[1], "", 1) == 1, "write");
	pthread_join(b->thread, NULL);
	fi_close(&b->pep->fid);
	fi_close(&b->eq->fid);
	fi_close(&b->fabric->fid);
	fi_freeinfo(b->info);
	close(b->stop_pipe[0]);
	close(b->stop_pipe[1]);
	munmap(b->memory, FAKE_BYTES);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

struct fake_rules *fake_brick_rules(struct fake_brick *b)
{
	return &b->rules;
}

const char *fake_brick_url(const struct fake_brick *b)
{
	return b->url;
}

const uint8_t *fake_brick_key(const struct fake_brick *b)
{
	return b->key;
}

const uint8_t *fake_brick_uuid(const struct fake_brick *b)
{
	return b->uuid;
}

uint8_t *fake_brick_memory(struct fake_brick *b)
{
	return b->memory;
}

unsigned int fake_brick_hellos(const struct fake_brick *b)
{
	return b->n_hellos;
}

unsigned int fake_brick_seen(const struct fake_brick *b, uint16_t op)
{
	return b->seen[op];
}

struct kfb_flush fake_brick_last_flush(struct fake_brick *b)
{
	struct kfb_flush flush;

	pthread_mutex_lock(&b->lock);
	flush = b->last_flush;
	pthread_mutex_unlock(&b->lock);
	return flush;
}

uint32_t fake_brick_last_ack(struct fake_brick *b)
{
	return b->last_ack;
}
