// SPDX-License-Identifier: BSD-2-Clause
/* Links: how they begin and end, and what arrives over them: see fabric.h. */
#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "link.h"
#include "memory.h"
#include "../oracle.h"

/* How long an end may not know that its link is cut. */
#define SILENCE_NS (20 * SIM_MS)
/* How long packets of an endpoint that is gone may be on their way. */
#define LATE_NS	      (5 * SIM_MS)
#define LATE_PERMILLE 500
/* How long a brick that has read its settings may take until they hold. */
#define DENIED_NS (400 * SIM_MS)

struct sim_link *sim_links[SIM_LINKS_MAX];

static struct sim_link *idle[SIM_LINKS_MAX];
static uint32_t n_idle;

struct sim_op *sim_way_op(struct sim_way *way, uint32_t at)
{
	return &way->ops[(way->head + at) % SIM_OPS_MAX];
}

static struct sim_host *brick_of(const struct sim_link *link)
{
	return link->host[SIM_BRICK];
}

/* ---- the life of a link ----------------------------------------------------- */

static void cancel_all(struct sim_link *link)
{
	sim_cancel(&link->connect);
	sim_cancel(&link->answer);
	sim_cancel(&link->established);
	for (uint32_t side = 0; side < SIM_SIDES; side++) {
		sim_cancel(&link->way[side].arrive);
		sim_cancel(&link->way[side].ack);
		sim_cancel(&link->notice[side].due);
	}
}

/* Nobody is left who could use it, or be reached by it. */
void sim_link_may_go(struct sim_link *link)
{
	if (link->end[SIM_CLIENT] || link->end[SIM_BRICK] || link->is_asked)
		return;
	cancel_all(link);
	sim_links[link->number] = NULL;
	idle[n_idle++] = link;
}

/* One that has gone: what its operations were need not be forgotten. */
static struct sim_link *link_alloc(void)
{
	struct sim_link *link;

	if (!n_idle)
		return sim_alloc(sizeof(*link));
	link = idle[--n_idle];
	memset(link, 0, offsetof(struct sim_link, way));
	for (uint32_t side = 0; side < SIM_SIDES; side++)
		memset(&link->way[side], 0, offsetof(struct sim_way, ops));
	return link;
}

/* What it is told when its link is over. */
static void hear(struct sim_event *event)
{
	struct sim_notice *notice =
		sim_container_of(event, struct sim_notice, due);
	struct sim_ep *ep = notice->link->end[notice->side];

	if (!ep || ep->has_heard)
		return;
	ep->has_heard = true;
	sim_cq_fail(ep->cq, FI_ECANCELED, NULL);
	sim_cm_event(ep->eq, FI_SHUTDOWN, 0, &ep->fid.fid, NULL, 0, NULL);
}

void sim_link_tell(struct sim_link *link, uint32_t side, uint64_t at_ns)
{
	if (link->end[side] && !link->end[side]->has_heard)
		sim_schedule(&link->notice[side].due, at_ns);
}

/* Nothing is sent on it any more; packets that are under way may arrive. */
void sim_link_end(struct sim_link *link, bool arrives_late)
{
	if (link->is_cut)
		return;
	link->is_cut = true;
	link->is_late = arrives_late;
	sim_cancel(&link->way[SIM_BRICK].arrive);
	sim_cancel(&link->way[SIM_BRICK].ack);
	sim_cancel(&link->way[SIM_CLIENT].ack);
	if (!link->is_late)
		sim_cancel(&link->way[SIM_CLIENT].arrive);
	else if (link->way[SIM_CLIENT].n_ops)
		sim_schedule(&link->way[SIM_CLIENT].arrive,
			     sim.now_ns + sim_below(LATE_NS));
}

/* A process may change its memory as soon as its endpoint is gone. */
void sim_way_keep_copies(struct sim_way *way)
{
	/* What brickd makes durable has been placed. */
	for (uint32_t i = way->is_persisting; i < way->n_ops; i++) {
		struct sim_op *op = sim_way_op(way, way->n_acks + i);

		if (op->kind != SIM_WRITE)
			continue;
		if (op->len > SIM_INLINE) {
			way->n_ops = i;
			return;
		}
		memcpy(op->copy, op->buf, op->len);
		op->buf = op->copy;
	}
}

/* ---- what arrives ------------------------------------------------------------ */

void sim_way_go(struct sim_way *way)
{
	uint64_t gap_ns = way->from == SIM_CLIENT ? sim.pace.gap_ns : 0;
	uint64_t at_ns = sim.now_ns + sim_delay();

	if (at_ns < way->last_ns + gap_ns)
		at_ns = way->last_ns + gap_ns;
	if (at_ns < way->link->held_until_ns)
		at_ns = way->link->held_until_ns;
	way->last_ns = at_ns;
	sim_schedule(&way->arrive, at_ns);
}

static void schedule_ack(struct sim_way *way)
{
	uint64_t at_ns = sim.now_ns + sim_delay();

	if (at_ns < way->link->held_until_ns)
		at_ns = way->link->held_until_ns;
	sim_schedule(&way->ack, at_ns);
}

/* The address in the brick's memory; NULL: the NIC refuses. */
static uint8_t *resolve(const struct sim_link *link, const struct sim_op *op)
{
	const struct sim_mr *mr = sim_mr_find(op->key);
	uint64_t access =
		op->kind == SIM_WRITE ? FI_REMOTE_WRITE : FI_REMOTE_READ;
	uint64_t off;

	if (!mr || !(mr->access & access) ||
	    mr->domain != link->end[SIM_BRICK]->domain)
		return NULL;
	off = op->raddr - (uintptr_t)mr->base;
	if (off > mr->len || op->len > mr->len - off)
		return NULL;
	return mr->base + off;
}

static bool is_at_medium(const struct sim_medium *medium, const uint8_t *at)
{
	return medium && at >= medium->seen &&
	       at < medium->seen + SIM_MEDIUM_BYTES;
}

/* Who asked for what is not there loses the connection. */
static void refuse(struct sim_way *way, struct sim_op *op)
{
	struct sim_link *link = way->link;
	struct sim_ep *client = link->end[SIM_CLIENT];

	sim_trace("fabric", "link %u: key %llx is refused", link->number,
		  (unsigned long long)op->key);
	way->n_ops = 0;
	if (client && !link->is_cut && !client->has_heard) {
		client->has_heard = true;
		sim_cq_fail(client->cq, FI_EACCES, op->context);
		sim_cm_event(client->eq, FI_SHUTDOWN, 0, &client->fid.fid, NULL,
			     0, NULL);
	}
	sim_link_end(link, false);
	sim_link_tell(link, SIM_BRICK, sim.now_ns + sim_delay());
}

/* For a while, as a card does that has lost what it knew of keys. */
static bool is_refused(struct sim_host *brick, const struct sim_op *op,
		       const uint8_t *at)
{
	if (op->kind != SIM_WRITE || sim.now_ns >= brick->refuses_until_ns ||
	    !is_at_medium(brick->medium, at))
		return false;
	brick->n_refused++;
	return true;
}

/* What was taken from a client ends what it has mapped. */
static void check_right(const struct sim_link *link)
{
	const struct sim_host *brick = brick_of(link);
	uint32_t client = link->host[SIM_CLIENT]->client;
	uint64_t since_ns = client ? brick->denied_ns[client - 1] : 0;

	if (since_ns && sim.now_ns > since_ns + DENIED_NS &&
	    !sim_memory_failures(brick->process.number))
		sim_violated("client%u: it may not write, and does",
			     client - 1);
}

static bool arrive_rma(struct sim_way *way, struct sim_op *op)
{
	struct sim_link *link = way->link;
	struct sim_medium *medium = brick_of(link)->medium;
	uint8_t *at = resolve(link, op);

	if (!at || is_refused(brick_of(link), op, at)) {
		refuse(way, op);
		return false;
	}
	if (op->kind == SIM_WRITE) {
		check_right(link);
		if (is_at_medium(medium, at))
			sim_medium_write(medium, link->number, op->key, at,
					 op->buf, op->len);
		else
			memcpy(at, op->buf, op->len);
		return true;
	}
	sim_medium_empty(medium, link->number);
	/* An answer that is lost changes nothing. */
	if (link->end[SIM_CLIENT] && !link->is_cut)
		memcpy(op->buf, at, op->len);
	return true;
}

/* ---- writes that are durable when they are acknowledged ------------------------ */

static void arrived(struct sim_way *way);

/* What the provider's thread does at the brick, before the next is received. */
static void *persist(void *arg)
{
	struct sim_way *way = arg;
	const struct sim_link *link = way->link;
	const struct sim_domain *domain = link->end[SIM_BRICK]->domain;
	const struct sim_op *op = sim_way_op(way, way->n_acks);
	int rc;

	rc = domain->persist(domain->persist_arg, resolve(link, op), op->len);
	way->is_persisting = false;
	if (!link->end[SIM_BRICK])
		return NULL;
	if (!rc) {
		arrived(way);
		return NULL;
	}
	sim_trace("fabric", "link %u: a write cannot be made durable",
		  link->number);
	way->n_ops = 0;
	sim_link_end(way->link, false);
	sim_link_tell(way->link, SIM_CLIENT, sim.now_ns + sim_delay());
	sim_link_tell(way->link, SIM_BRICK, sim.now_ns + sim_delay());
	return NULL;
}

static void begin_persist(struct sim_way *way)
{
	way->is_persisting = true;
	sim_thread_start(&brick_of(way->link)->process, persist, way)
		->is_detached = true;
}

/* False: the peer has posted no receive yet. */
static bool arrive_message(struct sim_way *way, struct sim_op *op)
{
	struct sim_link *link = way->link;
	struct sim_ep *to = link->end[!way->from];
	struct sim_receive *rx;

	if (!to || !to->n_rx)
		return false;
	if (way->from == SIM_CLIENT)
		sim_medium_empty(brick_of(link)->medium, link->number);
	rx = &to->rx[to->rx_head];
	if (rx->len < op->len)
		sim_die("a message is longer than what was posted for it");
	memcpy(rx->buf, op->copy, op->len);
	to->rx_head = (to->rx_head + 1) % SIM_RX_MAX;
	to->n_rx--;
	sim_complete(to->cq, rx->context, FI_MSG | FI_RECV, op->len);
	return true;
}

static void count_traffic(struct sim_way *way, const struct sim_op *op)
{
	struct sim_ep *from = way->link->end[way->from];
	struct sim_ep *to = way->link->end[!way->from];

	if (from)
		from->sent_bytes += op->len;
	if (!to)
		return;
	to->received_bytes += op->len;
	to->received_ns = sim.now_ns;
	to->moved.n_ops += op->kind != SIM_SEND;
	if (op->kind == SIM_WRITE)
		to->moved.written_bytes += op->len;
	else if (op->kind == SIM_READ)
		to->moved.read_bytes += op->len;
}

/* The first that had not arrived has. */
static void arrived(struct sim_way *way)
{
	count_traffic(way, sim_way_op(way, way->n_acks));
	way->n_ops--;
	way->n_acks++;
	if (!way->link->is_cut && !way->ack.place)
		schedule_ack(way);
	if (way->n_ops && (!way->link->is_cut || way->link->is_late))
		sim_way_go(way);
}

static void arrive(struct sim_event *event)
{
	struct sim_way *way = sim_container_of(event, struct sim_way, arrive);
	struct sim_link *link = way->link;
	struct sim_op *op = sim_way_op(way, way->n_acks);

	if (!way->n_ops || !link->end[!way->from] || brick_of(link)->is_off ||
	    way->is_held || way->is_persisting)
		return;
	if (link->held_until_ns > sim.now_ns) {
		sim_way_go(way);
		return;
	}
	if (op->kind == SIM_SEND) {
		if (!arrive_message(way, op))
			return; /* posting a receive goes on with it */
	} else if (!arrive_rma(way, op)) {
		return;
	}
	if (op->is_durable && !link->is_cut)
		begin_persist(way);
	else
		arrived(way);
}

static void acknowledge(struct sim_event *event)
{
	static const uint64_t flags[] = {
		[SIM_SEND] = FI_MSG | FI_SEND,
		[SIM_WRITE] = FI_RMA | FI_WRITE,
		[SIM_READ] = FI_RMA | FI_READ,
	};
	struct sim_way *way = sim_container_of(event, struct sim_way, ack);
	struct sim_link *link = way->link;
	struct sim_ep *ep = link->end[way->from];
	struct sim_op *op = sim_way_op(way, 0);

	if (link->held_until_ns > sim.now_ns) {
		schedule_ack(way);
		return;
	}
	way->head = (way->head + 1) % SIM_OPS_MAX;
	way->n_acks--;
	if (ep && !ep->has_heard && !op->is_silent)
		sim_complete(ep->cq, op->context, flags[op->kind], op->len);
	if (way->n_acks)
		schedule_ack(way);
}

/* ---- networks --------------------------------------------------------------------- */

static uint64_t lost_until_ns[SIM_NETWORKS];

uint32_t sim_network_of(uint16_t port)
{
	return port >= SIM_PORT + SIM_NETWORK;
}

/* ---- connecting ---------------------------------------------------------------- */

void sim_link_answer(struct sim_link *link, uint32_t kind, int error,
		     const void *data, size_t len)
{
	if (len > sizeof(link->data))
		sim_die("an answer's data are too long");
	link->answer_kind = kind;
	link->answer_error = error;
	link->data_len = len;
	if (len)
		memcpy(link->data, data, len);
	sim_schedule(&link->answer, sim.now_ns + sim_delay());
}

/* What the brick has answered last, for a squatter to say again. */
static struct {
	size_t len;
	uint8_t data[SIM_CM_BYTES];
} overheard;

static uint64_t squats_until_ns;

/* Until its network is there again. */
static bool is_put_off(const struct sim_link *link, struct sim_event *event)
{
	uint64_t until_ns = lost_until_ns[sim_network_of(link->port)];

	if (sim.now_ns >= until_ns)
		return false;
	sim_schedule(event, until_ns);
	return true;
}

static void answered(struct sim_event *event)
{
	struct sim_link *link =
		sim_container_of(event, struct sim_link, answer);
	struct sim_ep *ep = link->end[SIM_CLIENT];

	if (is_put_off(link, event))
		return;
	if (link->end[SIM_BRICK]) {
		overheard.len = link->data_len;
		memcpy(overheard.data, link->data, link->data_len);
	}
	if (ep && !link->is_cut)
		sim_cm_event(ep->eq, link->answer_kind, link->answer_error,
			     &ep->fid.fid, link->data, link->data_len, NULL);
}

static void established(struct sim_event *event)
{
	struct sim_link *link =
		sim_container_of(event, struct sim_link, established);
	struct sim_ep *ep = link->end[SIM_BRICK];

	if (is_put_off(link, event))
		return;
	if (ep && !link->is_cut)
		sim_cm_event(ep->eq, FI_CONNECTED, 0, &ep->fid.fid, NULL, 0,
			     NULL);
}

/* ---- a squatter ---------------------------------------------------------------- */

void sim_squat(uint64_t until_ns)
{
	squats_until_ns = until_ns;
}

/* It says nothing, or something, or what it has heard the brick say once. */
static void squat(struct sim_link *link)
{
	sim_trace("fabric", "link %u: a squatter answers", link->number);
	link->is_squatted = true;
	switch (sim_below(4)) {
	case 0:
		return;
	case 1:
		for (size_t i = 0; i < sizeof(overheard.data); i++)
			overheard.data[i] = (uint8_t)sim_below(256);
		break;
	case 2:
		sim_link_answer(link, 0, FI_ECONNREFUSED, overheard.data,
				overheard.len);
		return;
	default:
		break;
	}
	sim_link_answer(link, FI_CONNECTED, 0, overheard.data, overheard.len);
}

/* The request arrives where somebody listens, or not. */
static void connect_arrives(struct sim_event *event)
{
	struct sim_link *link =
		sim_container_of(event, struct sim_link, connect);
	struct sim_pep *pep = sim_pep_at(link->port);
	struct fi_info *info;

	if (!link->end[SIM_CLIENT] || link->is_cut)
		return;
	if (is_put_off(link, event))
		return;
	if (!pep && sim.now_ns < squats_until_ns) {
		squat(link);
		return;
	}
	if (!pep) {
		sim_link_answer(link, 0, FI_ECONNREFUSED, NULL, 0);
		return;
	}
	link->host[SIM_BRICK] = pep->host;
	link->is_asked = true;
	info = fi_dupinfo(pep->info);
	info->handle = &link->request;
	((struct sockaddr_in *)info->dest_addr)->sin_addr.s_addr =
		htonl(INADDR_LOOPBACK + link->host[SIM_CLIENT]->process.number);
	sim_cm_event(pep->eq, FI_CONNREQ, 0, &pep->fid.fid, link->data,
		     link->data_len, info);
}

struct sim_link *sim_link_new(struct sim_ep *client)
{
	struct sim_link *link = link_alloc();
	uint32_t number;

	for (number = 0; number < SIM_LINKS_MAX && sim_links[number]; number++)
		;
	if (number == SIM_LINKS_MAX)
		sim_die("too many links");
	sim_links[number] = link;
	link->number = number;
	link->end[SIM_CLIENT] = client;
	link->connect.fire = connect_arrives;
	link->answer.fire = answered;
	link->established.fire = established;
	for (uint32_t side = 0; side < SIM_SIDES; side++) {
		link->way[side].link = link;
		link->way[side].from = side;
		link->way[side].arrive.fire = arrive;
		link->way[side].ack.fire = acknowledge;
		link->notice[side].link = link;
		link->notice[side].side = side;
		link->notice[side].due.fire = hear;
	}
	return link;
}

/* ---- faults ---------------------------------------------------------------------- */

static bool is_whole(const struct sim_link *link)
{
	return link && !link->is_cut && link->end[SIM_CLIENT] &&
	       link->end[SIM_BRICK];
}

uint32_t sim_links_count(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SIM_LINKS_MAX; i++)
		n += is_whole(sim_links[i]);
	return n;
}

static struct sim_link *whole_link(uint32_t which)
{
	for (uint32_t i = 0; i < SIM_LINKS_MAX; i++)
		if (is_whole(sim_links[i]) && !which--)
			return sim_links[i];
	return NULL;
}

static void cut(struct sim_link *link)
{
	sim_trace("fabric", "link %u is cut", link->number);
	sim_link_end(link, sim_chance(LATE_PERMILLE));
	sim_link_tell(link, SIM_CLIENT, sim.now_ns + sim_below(SILENCE_NS));
	sim_link_tell(link, SIM_BRICK, sim.now_ns + sim_below(SILENCE_NS));
}

void sim_link_cut(uint32_t which)
{
	struct sim_link *link = whole_link(which);

	if (link)
		cut(link);
}

static void hold(struct sim_link *link, uint64_t until_ns)
{
	sim_trace("fabric", "link %u is held for %llu us", link->number,
		  (unsigned long long)((until_ns - sim.now_ns) / SIM_US));
	link->held_until_ns = until_ns;
}

void sim_link_hold(uint32_t which, uint64_t until_ns)
{
	struct sim_link *link = whole_link(which);

	if (link)
		hold(link, until_ns);
}

void sim_network_lose(uint32_t network, uint64_t until_ns, bool cuts)
{
	sim_trace("fabric", "network %u is away for %llu us", network,
		  (unsigned long long)((until_ns - sim.now_ns) / SIM_US));
	lost_until_ns[network] = until_ns;
	for (uint32_t i = 0; i < SIM_LINKS_MAX; i++) {
		struct sim_link *link = sim_links[i];

		if (!is_whole(link) || sim_network_of(link->port) != network)
			continue;
		if (cuts)
			cut(link);
		else
			hold(link, until_ns);
	}
}

void sim_links_lose(const struct sim_host *host)
{
	for (uint32_t i = 0; i < SIM_LINKS_MAX; i++) {
		struct sim_link *link = sim_links[i];

		if (!link || (link->host[SIM_BRICK] != host &&
			      link->host[SIM_CLIENT] != host))
			continue;
		sim_link_end(link, false);
		sim_link_tell(link, SIM_CLIENT,
			      sim.now_ns + sim_below(SILENCE_NS));
	}
}

void sim_fabric_init(void)
{
	overheard.len = 0;
	squats_until_ns = 0;
	memset(lost_until_ns, 0, sizeof(lost_until_ns));
	for (uint32_t i = 0; i < SIM_LINKS_MAX; i++)
		if (sim_links[i])
			sim_die("a link has outlived its world");
}
