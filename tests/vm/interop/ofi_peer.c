// SPDX-License-Identifier: BSD-2-Clause
/*
 * The user-space end of the interoperability test: plain libfabric, provider
 * "verbs" or "tcp", or this project's "stcp", FI_EP_MSG. It serves one connection after the other and does what
 * the kernel's end asks for; see iop_wire.h.
 *
 *   ofi_peer server ADDRESS PORT [PROVIDER]   accepts, until it is killed
 *   ofi_peer client ADDRESS PORT [PROVIDER]   connects, until it is rejected
 *
 * Prints TAP; exit 0 if everything was as it should be.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "stcp.h"
#include "kfabric/test/perf/iop_wire.h"

#define POLL_MS	      20
#define EVENT_MS      60000
#define SLICE_MS      100
#define RETRY_US      50000
#define CONNECT_TRIES 400
#define LOCAL_BYTES   (1u << 20)
#define CM_DATA_ROOM  256
/* IBV_WC_REM_ACCESS_ERR: a provider's own error numbers are those of verbs */
#define REM_ACCESS_ERR 10
#define IOP_PIECES     16

#define STASH 4

static unsigned int points, failed;
static const char *provider = "verbs";

/* One connection: everything hangs on a domain of its own. */
struct conn {
	struct fid_domain *domain;
	struct fid_cq *txcq, *rxcq;
	struct fid_eq *eq;
	struct fid_ep *ep;
	struct fid_mr *rw_mr, *ro_mr, *msg_mr, *local_mr;
	uint8_t *rw, *ro, *msg, *local;
	size_t max_pieces;
	bool virt_addr; /* peers name our virtual addresses, else offsets */
	int prov_errno;
	bool hang;
	bool over;
};

/* An event with room for its private data. */
union event {
	struct fi_eq_cm_entry cm;
	uint8_t room[sizeof(struct fi_eq_cm_entry) + CM_DATA_ROOM];
};

/* Requests that came while another connection was served: one EQ for all. */
static struct {
	size_t data_len;
	union event event;
} stash[STASH];
static unsigned int stashed;

static bool check(bool good, const char *format, ...)
{
	va_list args;

	printf("%sok %u - peer: ", good ? "" : "not ", ++points);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	failed += !good;
	return good;
}

static void must(const char *what, int ret)
{
	if (ret >= 0)
		return;
	check(false, "%s: %s", what, fi_strerror(-ret));
	exit(1);
}

/* ---- set-up ----------------------------------------------------------- */

static uint8_t *map_bytes(size_t len)
{
	int fd = memfd_create("ofi_peer", MFD_CLOEXEC);
	void *p;

	if (fd < 0 || ftruncate(fd, (off_t)len))
		must("memfd", -errno);
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		must("mmap", -errno);
	close(fd);
	return p;
}

static struct fi_info *get_info(const char *addr, const char *port,
				uint64_t flags)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
				      FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup(provider);
	must("fi_getinfo", stcp_choose_getinfo(FI_VERSION(1, 17), addr, port,
					       flags, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static struct fid_mr *reg(struct conn *c, void *p, size_t len, uint64_t access)
{
	static uint64_t key = 0x1dea0000;
	struct fid_mr *mr = NULL;

	must("fi_mr_reg",
	     fi_mr_reg(c->domain, p, len, access, 0, ++key, 0, &mr, NULL));
	return mr;
}

static void open_memory(struct conn *c)
{
	size_t i;

	c->rw = map_bytes(IOP_RW_BYTES);
	c->ro = map_bytes(IOP_RO_BYTES);
	c->msg = map_bytes((size_t)IOP_MSG_MAX * IOP_PEER_RECVS);
	c->local = map_bytes(LOCAL_BYTES);
	for (i = 0; i < IOP_RO_BYTES; i++)
		c->ro[i] = iop_byte(IOP_RO_SEED, i);
	c->rw_mr =
		reg(c, c->rw, IOP_RW_BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE);
	c->ro_mr = reg(c, c->ro, IOP_RO_BYTES, FI_REMOTE_READ);
	c->msg_mr = reg(c, c->msg, (size_t)IOP_MSG_MAX * IOP_PEER_RECVS,
			FI_SEND | FI_RECV);
	c->local_mr = reg(c, c->local, LOCAL_BYTES, FI_READ | FI_WRITE);
}

static int post_recv(struct conn *c, uint8_t *buf)
{
	return (int)fi_recv(c->ep, buf, IOP_MSG_MAX, fi_mr_desc(c->msg_mr), 0,
			    buf);
}

/*
 * Where the connection may have ended: that is an event, too. libfabric 2's tcp
 * calls it a full queue.
 */
static void post_recv_again(struct conn *c, uint8_t *buf)
{
	int ret = post_recv(c, buf);

	if (ret != -FI_ENOTCONN && ret != -FI_EAGAIN)
		must("fi_recv", ret);
}

static int persist(void *arg, void *addr, size_t len)
{
	(void)arg;
	return msync((void *)((uintptr_t)addr & ~4095ul),
		     len + ((uintptr_t)addr & 4095), MS_SYNC);
}

/* Who is asked for durable writes makes them; libfabric's only says so. */
static void promise_durability(struct conn *c)
{
	struct stcp_domain_ops *ops = NULL;

	if (strcmp(provider, STCP_PROVIDER) != 0)
		return;
	must("fi_open_ops", fi_open_ops(&c->domain->fid, STCP_DOMAIN_OPS, 0,
					(void **)&ops, NULL));
	must("set_persist", ops->set_persist(c->domain, persist, NULL));
}

static void open_conn(struct conn *c, struct fid_fabric *fabric,
		      struct fi_info *info, struct fid_eq *eq)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_DATA,
				      .wait_obj = FI_WAIT_FD };
	int i;

	memset(c, 0, sizeof(*c));
	c->eq = eq;
	c->max_pieces = info->tx_attr->iov_limit;
	c->virt_addr = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
	must("fi_domain", fi_domain(fabric, info, &c->domain, NULL));
	promise_durability(c);
	must("fi_cq_open", fi_cq_open(c->domain, &cq_attr, &c->txcq, NULL));
	must("fi_cq_open", fi_cq_open(c->domain, &cq_attr, &c->rxcq, NULL));
	must("fi_endpoint", fi_endpoint(c->domain, info, &c->ep, NULL));
	must("bind eq", fi_ep_bind(c->ep, &eq->fid, 0));
	must("bind cq", fi_ep_bind(c->ep, &c->txcq->fid, FI_TRANSMIT));
	must("bind cq", fi_ep_bind(c->ep, &c->rxcq->fid, FI_RECV));
	must("fi_enable", fi_enable(c->ep));
	open_memory(c);
	for (i = 0; i < IOP_PEER_RECVS; i++)
		must("fi_recv", post_recv(c, c->msg + (size_t)i * IOP_MSG_MAX));
}

static void close_conn(struct conn *c)
{
	fi_close(&c->ep->fid);
	fi_close(&c->rw_mr->fid);
	fi_close(&c->ro_mr->fid);
	fi_close(&c->msg_mr->fid);
	fi_close(&c->local_mr->fid);
	fi_close(&c->txcq->fid);
	fi_close(&c->rxcq->fid);
	fi_close(&c->domain->fid);
	munmap(c->rw, IOP_RW_BYTES);
	munmap(c->ro, IOP_RO_BYTES);
	munmap(c->msg, (size_t)IOP_MSG_MAX * IOP_PEER_RECVS);
	munmap(c->local, LOCAL_BYTES);
}

/* What the kernel calls the first byte. */
static uint64_t base(const struct conn *c, const uint8_t *p)
{
	return c->virt_addr ? (uintptr_t)p : 0;
}

static struct iop_peer_data my_data(const struct conn *c)
{
	static unsigned int turn;
	struct iop_peer_data d = { .rw_addr = base(c, c->rw),
				   .rw_key = fi_mr_key(c->rw_mr),
				   .ro_addr = base(c, c->ro),
				   .ro_key = fi_mr_key(c->ro_mr) };
	size_t i;

	memcpy(d.magic, IOP_PEER_MAGIC, IOP_MAGIC_LEN);
	d.len = (uint8_t)iop_data_len(offsetof(struct iop_peer_data, pattern),
				      turn++);
	for (i = 0; i < sizeof(d.pattern); i++)
		d.pattern[i] = iop_byte(2, i);
	return d;
}

/* Is that what the kernel's end sends as private data? */
static bool ulp_data_good(const uint8_t *data, size_t len)
{
	size_t i, head = offsetof(struct iop_ulp_data, pattern);
	struct iop_ulp_data d = { .len = 0 };

	/* The wire pads; libfabric must have cut to the length byte. */
	if (len < head || len > sizeof(d))
		return false;
	memcpy(&d, data, len);
	for (i = 0; i < len - head; i++)
		if (d.pattern[i] != iop_byte(1, i))
			return false;
	return d.len == len && !memcmp(d.magic, IOP_ULP_MAGIC, IOP_MAGIC_LEN);
}

/* ---- commands --------------------------------------------------------- */

/* 0 when the operation was done, else the positive error. */
static int wait_tx(struct conn *c)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_data_entry entry;
	ssize_t n;

	n = fi_cq_sread(c->txcq, &entry, 1, NULL, EVENT_MS);
	if (n == 1)
		return 0;
	if (n == -FI_EAVAIL && fi_cq_readerr(c->txcq, &err, 0) == 1) {
		c->prov_errno = err.prov_errno;
		return err.err;
	}
	return n == -FI_EAGAIN ? ETIMEDOUT : (int)-n;
}

static void reply_bytes(struct conn *c, uint8_t *buf, size_t len)
{
	int err =
		(int)-fi_send(c->ep, buf, len, fi_mr_desc(c->msg_mr), 0, NULL);

	err = err ? err : wait_tx(c);
	if (err)
		c->over = true;
}

static void reply(struct conn *c, uint8_t *buf, uint8_t op, uint64_t value)
{
	struct iop_reply r = { .op = op, .value = value };

	memcpy(buf, &r, sizeof(r));
	reply_bytes(c, buf, sizeof(r));
}

static bool check_len(const struct iop_cmd *cmd)
{
	if (cmd->len && cmd->len <= LOCAL_BYTES && cmd->pieces <= IOP_PIECES)
		return true;
	return check(false, "'%c' of %" PRIu64 " bytes", cmd->op,
		     (uint64_t)cmd->len);
}

/*
 * The kernel's end had to refuse that, and nothing else. On tcp the
 * connection's end is all that tells.
 */
static void see_refusal(struct conn *c, const struct iop_cmd *cmd, int err)
{
	if (cmd->refused && !c->virt_addr)
		return;
	if (cmd->refused)
		check(err == FI_EIO && c->prov_errno == REM_ACCESS_ERR,
		      "'%c' is refused: %s, %d", cmd->op, fi_strerror(err),
		      c->prov_errno);
	else if (err)
		check(false, "'%c' fails: %s, %d", cmd->op, fi_strerror(err),
		      c->prov_errno);
	c->over = err != 0;
}

/* Our own buffer in as many pieces as the command says. Returns their number */
static size_t cut(struct conn *c, const struct iop_cmd *cmd, struct iovec *iov)
{
	size_t i, n = cmd->pieces ? cmd->pieces : 1, part;

	if (n > cmd->len)
		n = cmd->len;
	if (n > c->max_pieces) {
		if (c->virt_addr)
			check(false, "%zu pieces are allowed", n);
		n = c->max_pieces;
	}
	if (!n)
		n = 1;
	part = cmd->len / n;
	for (i = 0; i < n; i++) {
		iov[i].iov_base = c->local + i * part;
		iov[i].iov_len = i < n - 1 ? part : cmd->len - i * part;
	}
	return n;
}

static int post_write(struct conn *c, const struct iop_cmd *cmd)
{
	void *desc[IOP_PIECES];
	struct iovec iov[IOP_PIECES];
	size_t i, n = cut(c, cmd, iov);

	for (i = 0; i < cmd->len; i++)
		c->local[i] = iop_byte(cmd->seed, i);
	for (i = 0; i < n; i++)
		desc[i] = fi_mr_desc(c->local_mr);
	if (cmd->op == IOP_WRITEDATA)
		return (int)-fi_writedata(c->ep, c->local, cmd->len,
					  fi_mr_desc(c->local_mr), cmd->seed, 0,
					  cmd->addr, cmd->key, NULL);
	return (int)-fi_writev(c->ep, iov, desc, n, 0, cmd->addr, cmd->key,
			       NULL);
}

/* In segments of the same length, the last one first. */
static int post_segs(struct conn *c, const struct iop_cmd *cmd)
{
	static const uint64_t flags[IOP_LEVELS] = { 0, FI_DELIVERY_COMPLETE,
						    FI_COMMIT_COMPLETE };
	struct iovec iov = { c->local, cmd->len };
	void *desc = fi_mr_desc(c->local_mr);
	struct fi_rma_iov rma[IOP_SEGS];
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = &desc,
				  .iov_count = 1,
				  .rma_iov = rma,
				  .rma_iov_count = IOP_SEGS };
	size_t i, part = cmd->len / IOP_SEGS;

	for (i = 0; i < cmd->len; i++)
		c->local[i] = iop_byte(cmd->seed, i);
	for (i = 0; i < IOP_SEGS; i++)
		rma[i] = (struct fi_rma_iov){
			cmd->addr + (IOP_SEGS - 1 - i) * part, part, cmd->key
		};
	return (int)-fi_writemsg(
		c->ep, &msg, FI_COMPLETION | flags[cmd->level % IOP_LEVELS]);
}

static void do_write(struct conn *c, uint8_t *buf, const struct iop_cmd *cmd)
{
	int err;

	if (!check_len(cmd))
		return;
	err = cmd->op == IOP_WRITE_SEGS ? post_segs(c, cmd)
					: post_write(c, cmd);
	/* One that wraps is refused by our own provider, if that is stcp. */
	c->over = err && cmd->refused;
	err = err ? err : wait_tx(c);
	see_refusal(c, cmd, err);
	if (!err)
		reply(c, buf, cmd->op, 0);
}

static void do_read(struct conn *c, uint8_t *buf, const struct iop_cmd *cmd)
{
	void *desc[IOP_PIECES];
	struct iovec iov[IOP_PIECES];
	size_t i, n;
	int err;

	if (!check_len(cmd))
		return;
	n = cut(c, cmd, iov);
	for (i = 0; i < n; i++)
		desc[i] = fi_mr_desc(c->local_mr);
	err = (int)-fi_readv(c->ep, iov, desc, n, 0, cmd->addr, cmd->key, NULL);
	c->over = err && cmd->refused;
	err = err ? err : wait_tx(c);
	see_refusal(c, cmd, err);
	if (!err)
		reply(c, buf, cmd->op,
		      iop_sum(IOP_SUM_INIT, c->local, cmd->len));
}

static void die_writing(struct conn *c, const struct iop_cmd *cmd)
{
	int err;

	if (!check_len(cmd))
		return;
	err = post_write(c, cmd);
	check(!err, "a last write begins: %s", fi_strerror(err));
	kill(getpid(), SIGKILL);
}

static void do_sum(struct conn *c, uint8_t *buf, const struct iop_cmd *cmd)
{
	uint64_t at = cmd->addr - base(c, c->rw);

	if (at > IOP_RW_BYTES || cmd->len > IOP_RW_BYTES - at)
		check(false, "the kernel asks for a sum of foreign memory");
	else
		reply(c, buf, cmd->op,
		      iop_sum(IOP_SUM_INIT, c->rw + at, cmd->len));
}

/* One message came. */
static void serve_message(struct conn *c, uint8_t *buf, size_t len)
{
	struct iop_cmd cmd = { .op = buf[0] };

	if (len >= sizeof(cmd))
		memcpy(&cmd, buf, sizeof(cmd));
	switch (cmd.op) {
	case IOP_ECHO:
		reply_bytes(c, buf, len);
		break;
	case IOP_SUM:
		do_sum(c, buf, &cmd);
		break;
	case IOP_WRITE:
	case IOP_WRITE_SEGS:
	case IOP_WRITEDATA:
		do_write(c, buf, &cmd);
		break;
	case IOP_READ:
		do_read(c, buf, &cmd);
		break;
	case IOP_KILL:
		kill(getpid(), SIGKILL);
		break;
	case IOP_KILL_WRITING:
		die_writing(c, &cmd);
		break;
	case IOP_HANG:
		c->hang = true;
		break;
	case IOP_NOTHING:
		break;
	case IOP_QUIT:
		fi_shutdown(c->ep, 0);
		break;
	default:
		check(false, "unknown command %u", cmd.op);
		break;
	}
}

/* Keep a request for later. */
static void keep_request(const union event *event, size_t data_len)
{
	if (!check(stashed < STASH, "%u requests wait", stashed + 1))
		return;
	stash[stashed].event = *event;
	stash[stashed++].data_len = data_len;
}

/* Look at the connection's events; FI_SHUTDOWN ends it. */
static void poll_events(struct conn *c)
{
	struct fi_eq_err_entry err = { 0 };
	union event event;
	uint32_t kind;
	ssize_t n;

	n = fi_eq_read(c->eq, &kind, &event, sizeof(event), 0);
	if (n == -FI_EAVAIL)
		fi_eq_readerr(c->eq, &err, 0);
	if (n >= (ssize_t)sizeof(event.cm) && kind == FI_CONNREQ)
		keep_request(&event, (size_t)n - sizeof(event.cm));
	else if ((n > 0 && kind == FI_SHUTDOWN) || n == -FI_EAVAIL)
		c->over = true;
}

/* Serve until the connection is over. */
static void serve(struct conn *c)
{
	struct fi_cq_err_entry err;
	struct fi_cq_data_entry entry;
	ssize_t n;

	while (!c->over) {
		n = fi_cq_sread(c->rxcq, &entry, 1, NULL, POLL_MS);
		if (n == 1) {
			serve_message(c, entry.op_context, entry.len);
			if (!c->hang && !c->over)
				post_recv_again(c, entry.op_context);
			continue;
		}
		if (n == -FI_EAVAIL) {
			memset(&err, 0, sizeof(err));
			fi_cq_readerr(c->rxcq, &err, 0);
		}
		poll_events(c);
	}
}

/* ---- roles ------------------------------------------------------------ */

/* In slices: a wait of libfabric 1.17 is not always woken. */
static ssize_t wait_event(struct fid_eq *eq, uint32_t *kind, union event *event,
			  int timeout_ms)
{
	ssize_t n;

	do {
		n = fi_eq_sread(eq, kind, event, sizeof(*event), SLICE_MS, 0);
		timeout_ms -= SLICE_MS;
	} while ((n == -FI_EAGAIN || n == -FI_EINTR) && timeout_ms > 0);
	return n;
}

/* Wait for FI_CONNECTED or a failure. */
static ssize_t wait_connected(struct fid_eq *eq, union event *event,
			      struct fi_eq_err_entry *err)
{
	uint32_t kind = 0;
	ssize_t n;

	do {
		n = wait_event(eq, &kind, event, EVENT_MS);
		if (n >= (ssize_t)sizeof(event->cm) && kind == FI_CONNREQ)
			keep_request(event, (size_t)n - sizeof(event->cm));
	} while (n > 0 && kind == FI_CONNREQ);
	if (n == -FI_EAVAIL) {
		fi_eq_readerr(eq, err, 0);
		return -err->err;
	}
	return n > 0 && kind != FI_CONNECTED ? -FI_EOTHER : n;
}

static void answer(struct fid_fabric *fabric, struct fid_pep *pep,
		   struct fid_eq *eq, union event *request, size_t data_len)
{
	struct iop_peer_data mine;
	struct fi_eq_err_entry err = { 0 };
	union event event;
	struct conn c;
	bool good = ulp_data_good(request->cm.data, data_len);

	check(good, "the kernel's private data came whole (%zu bytes)",
	      data_len);
	if (good && request->cm.data[offsetof(struct iop_ulp_data, mode)] ==
			    IOP_MODE_REJECT) {
		must("fi_reject",
		     fi_reject(pep, request->cm.info->handle, IOP_SERVER_SAYS,
			       sizeof(IOP_SERVER_SAYS)));
		fi_freeinfo(request->cm.info);
		return;
	}
	open_conn(&c, fabric, request->cm.info, eq);
	fi_freeinfo(request->cm.info);
	mine = my_data(&c);
	if (!fi_accept(c.ep, &mine, mine.len) &&
	    wait_connected(eq, &event, &err) >= 0)
		serve(&c);
	close_conn(&c);
}

_Noreturn static void server(const char *addr, const char *port)
{
	struct fi_info *info = get_info(addr, port, FI_SOURCE);
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	struct fid_fabric *fabric = NULL;
	struct fid_pep *pep = NULL;
	struct fid_eq *eq = NULL;
	union event event;
	uint32_t kind;
	ssize_t n;

	must("fi_fabric", stcp_choose_fabric(info->fabric_attr, &fabric, NULL));
	must("fi_eq_open", fi_eq_open(fabric, &eq_attr, &eq, NULL));
	must("fi_passive_ep", fi_passive_ep(fabric, info, &pep, NULL));
	must("fi_pep_bind", fi_pep_bind(pep, &eq->fid, 0));
	must("fi_listen", fi_listen(pep));
	printf("# peer: listening\n");
	fflush(stdout);
	for (;;) {
		while (stashed) {
			size_t len = stash[0].data_len;

			event = stash[0].event;
			memmove(stash, stash + 1, --stashed * sizeof(*stash));
			answer(fabric, pep, eq, &event, len);
		}
		n = wait_event(eq, &kind, &event, EVENT_MS);
		if (n >= (ssize_t)sizeof(event.cm) && kind == FI_CONNREQ)
			answer(fabric, pep, eq, &event,
			       (size_t)n - sizeof(event.cm));
		else if (n == -FI_EAVAIL)
			fi_eq_readerr(eq, &(struct fi_eq_err_entry){ 0 }, 0);
		else if (n < 0 && n != -FI_EAGAIN && n != -FI_EINTR)
			must("fi_eq_sread", (int)n);
	}
}

/* Returns false when the kernel has rejected: that is the end. */
static bool one_client(struct fid_fabric *fabric, struct fi_info *info,
		       int *refused)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };
	uint8_t err_data[CM_DATA_ROOM];
	struct fi_eq_err_entry err = { .err_data = err_data,
				       .err_data_size = sizeof(err_data) };
	struct iop_peer_data mine;
	struct fid_eq *eq = NULL;
	union event event;
	struct conn c;
	bool on = true;
	ssize_t n;

	must("fi_eq_open", fi_eq_open(fabric, &eq_attr, &eq, NULL));
	open_conn(&c, fabric, info, eq);
	mine = my_data(&c);
	must("fi_connect", fi_connect(c.ep, info->dest_addr, &mine, mine.len));
	n = wait_connected(eq, &event, &err);
	if (n >= (ssize_t)sizeof(event.cm)) {
		n -= (ssize_t)sizeof(event.cm);
		check(ulp_data_good(event.cm.data, (size_t)n),
		      "the kernel's private data came whole (%zd bytes)", n);
		serve(&c);
		*refused = 0;
	} else if (err.err_data_size >= sizeof(IOP_KERNEL_SAYS)) {
		check(!memcmp(err.err_data, IOP_KERNEL_SAYS,
			      sizeof(IOP_KERNEL_SAYS)),
		      "the kernel's reject data came whole (%zu bytes)",
		      err.err_data_size);
		check(err.err == FI_ECONNREFUSED, "a reject is ECONNREFUSED");
		on = false;
	} else {
		/* Nobody listens yet, or not any more. */
		usleep(RETRY_US);
		on = ++*refused < CONNECT_TRIES;
		if (!on)
			check(false, "the kernel listens: %s",
			      fi_strerror((int)-n));
	}
	close_conn(&c);
	fi_close(&eq->fid);
	return on;
}

static int client(const char *addr, const char *port)
{
	struct fi_info *info = get_info(addr, port, 0);
	struct fid_fabric *fabric = NULL;
	int refused = 0;

	must("fi_fabric", stcp_choose_fabric(info->fabric_attr, &fabric, NULL));
	while (one_client(fabric, info, &refused))
		;
	fi_close(&fabric->fid);
	fi_freeinfo(info);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	/* With its cache, libfabric ignores that a region is read-only. */
	setenv("FI_MR_CACHE_MAX_COUNT", "0", 1);
	setenv("FI_VERBS_TX_IOV_LIMIT", "16", 1);
	if (argc == 5)
		provider = argv[--argc];
	if (argc == 4 && !strcmp(argv[1], "server"))
		server(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "client"))
		return client(argv[2], argv[3]);
	fprintf(stderr,
		"usage: ofi_peer server|client ADDRESS PORT [PROVIDER]\n");
	return 2;
}
