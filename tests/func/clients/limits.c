// SPDX-License-Identifier: BSD-2-Clause
/*
 * As much as a brick allows, and one more:
 *
 *	limits WHAT BRICK CLIENT KEYFILE OTHERCLIENT KEYFILE [FILE]
 *
 *	strangers	2 connections without AUTH; the oldest one goes
 *	neighbours	2 of one address; another address has its own
 *	silent		one that never says anything
 *	sessions	3 sessions in all
 *	client		3 sessions of the client
 *	mappings	2 mappings of a session, 4 blocks of one ALLOC
 *	handles		3 handles of a session, of one block each
 *	credits		8 requests under way, 2 of them for PING and UNMAP
 *	pending		2 requests of a session that wait for blocks, 3 in all
 *	shares		2 of a session, 3 of a client; another client has its own
 *	ending		1 session of the client, and 1 that is ending
 *
 * For the last four the brick's device closes no registration while FILE exists:
 * so requests can be had to stay where they are.
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "key_file.h"
#include "proto/kfb_err.h"
#include "raw_session.h"

#define WAIT_MS	      60000
#define CREDITS	      8
#define FREE_CREDITS  (CREDITS - KFB_CREDITS_RESERVED)
#define BLOCKS	      4
#define OTHER_ADDRESS "127.0.0.2"

#define CHECK(what)                                                        \
	do {                                                               \
		if (!(what)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #what); \
			return 1;                                          \
		}                                                          \
	} while (0)

static struct raw_identity id, neighbour;
static const char *file;

/* All that a run opens; closed at its end. */
static struct raw_session peers[8];

/* ---- connections and sessions ---- */

static bool connects(struct raw_session *s, uint16_t *status)
{
	struct kfb_hello hello;

	raw_hello(&hello);
	*status = KFB_ST_OK;
	return raw_session_connect(s, &id, &hello, status) == RAW_ACCEPTED;
}

static bool is_ended(struct raw_session *s)
{
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	size_t len = sizeof(buf);

	return raw_receive(s->c, buf, &len, WAIT_MS) == RAW_ENDED;
}

static bool authenticates(struct raw_session *s)
{
	struct kfb_request req;

	return raw_auth_request(s, id.client, id.key, &req) &&
	       raw_call(s, &req) == RAW_ACCEPTED &&
	       s->reply.status == KFB_ST_OK;
}

static int strangers(void)
{
	uint16_t status;

	for (int i = 0; i < 3; i++)
		CHECK(connects(&peers[i], &status));
	/* The oldest makes room, and nobody else. */
	CHECK(is_ended(&peers[0]));
	CHECK(authenticates(&peers[2]));
	CHECK(authenticates(&peers[1]));
	/* Those take no places any more, and lose none. */
	for (int i = 3; i < 6; i++)
		CHECK(connects(&peers[i], &status));
	CHECK(is_ended(&peers[3]));
	CHECK(authenticates(&peers[4]));
	CHECK(authenticates(&peers[5]));
	return 0;
}

static int neighbours(void)
{
	uint16_t status;

	CHECK(connects(&peers[0], &status));
	CHECK(connects(&peers[1], &status));
	raw_come_from(OTHER_ADDRESS);
	for (int i = 2; i < 5; i++)
		CHECK(connects(&peers[i], &status));
	/* The oldest of that address makes room, not the oldest of all. */
	CHECK(is_ended(&peers[2]));
	for (int i = 0; i < 5; i++)
		CHECK(i == 2 || authenticates(&peers[i]));
	return 0;
}

static int silent(void)
{
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	size_t len = sizeof(buf);
	uint16_t status;

	CHECK(connects(&peers[0], &status));
	CHECK(raw_receive(peers[0].c, buf, &len, WAIT_MS) == RAW_ENDED);
	return 0;
}

static int sessions(void)
{
	uint16_t status;

	for (int i = 0; i < 2; i++)
		CHECK(raw_session_open(&peers[i], &id));
	/* One that has come while there was a place finds it taken. */
	CHECK(connects(&peers[2], &status));
	CHECK(connects(&peers[3], &status));
	CHECK(authenticates(&peers[2]));
	CHECK(!authenticates(&peers[3]));
	CHECK(peers[3].reply.status == KFB_ST_LIMIT);
	CHECK(!connects(&peers[4], &status) && status == KFB_ST_LIMIT);
	return 0;
}

static int sessions_of_one(void)
{
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	size_t len = sizeof(buf);
	struct raw_session *more = &peers[3];
	struct kfb_request req;
	uint16_t status;

	for (int i = 0; i < 3; i++)
		CHECK(raw_session_open(&peers[i], &id));
	CHECK(connects(more, &status));
	CHECK(raw_auth_request(more, id.client, id.key, &req));
	CHECK(raw_call(more, &req) == RAW_ACCEPTED);
	CHECK(more->reply.status == KFB_ST_LIMIT);
	CHECK(raw_receive(more->c, buf, &len, WAIT_MS) == RAW_ENDED);
	return 0;
}

/* ---- requests ---- */

static unsigned int call(struct raw_session *s, struct kfb_request *req)
{
	return raw_call(s, req) == RAW_ACCEPTED ? s->reply.status : UINT16_MAX;
}

static unsigned int call_range(struct raw_session *s, uint16_t op, uint64_t n)
{
	struct kfb_request req = { .op = op };

	req.u.range.n_blocks = n;
	return call(s, &req);
}

static struct kfb_request map_of(uint64_t block)
{
	struct kfb_request req = { .op = KFB_OP_MAP };

	req.u.map.range.va = block << KFB_BLOCK_SHIFT;
	req.u.map.range.n_blocks = 1;
	req.u.map.flags = KFB_MAP_RW | KFB_MAP_EXCLUSIVE;
	return req;
}

static int mappings(void)
{
	struct kfb_request req;
	struct raw_session *s = &peers[0];

	CHECK(raw_session_open(s, &id));
	CHECK(call_range(s, KFB_OP_ALLOC, BLOCKS + 1) == KFB_ST_LIMIT);
	CHECK(call_range(s, KFB_OP_ALLOC, BLOCKS) == KFB_ST_OK);
	for (uint64_t block = 0; block < 2; block++) {
		req = map_of(block);
		CHECK(call(s, &req) == KFB_ST_OK);
	}
	req = map_of(2);
	CHECK(call(s, &req) == KFB_ST_LIMIT);
	return 0;
}

static int handles(void)
{
	struct kfb_request map, unmap = { .op = KFB_OP_UNMAP };
	struct raw_session *s = &peers[0], *other = &peers[1];

	CHECK(raw_session_open(s, &id));
	CHECK(raw_session_open(other, &id));
	CHECK(call_range(s, KFB_OP_ALLOC, 2 * BLOCKS) == KFB_ST_OK);
	/* In one mapping, and in all. */
	map = map_of(0);
	map.u.map.range.n_blocks = 4;
	CHECK(call(s, &map) == KFB_ST_LIMIT);
	map.u.map.range.n_blocks = 2;
	CHECK(call(s, &map) == KFB_ST_OK);
	CHECK(s->reply.u.map.n_handles == 2);
	unmap.u.unmap.mapping_id = s->reply.u.map.mapping_id;
	map.u.map.range.va = 2 * KFB_BLOCK_BYTES;
	CHECK(call(s, &map) == KFB_ST_LIMIT);
	map.u.map.range.n_blocks = 1;
	CHECK(call(s, &map) == KFB_ST_OK);
	map = map_of(3);
	CHECK(call(s, &map) == KFB_ST_LIMIT);
	/* Another session has its own; and what is given back can be had. */
	CHECK(call(other, &map) == KFB_ST_OK);
	CHECK(call(s, &unmap) == KFB_ST_OK);
	map = map_of(4);
	CHECK(call(s, &map) == KFB_ST_OK);
	return 0;
}

/*
 * Blocks 0 to 3 are allocated. A session that had the last one mapped says
 * disconnect, and the brick's registrar waits for the device from then on.
 */
static bool hold_registrar(void)
{
	struct kfb_request map = map_of(BLOCKS - 1);
	struct kfb_request end = { .op = KFB_OP_PING };
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	size_t len = sizeof(buf);
	struct raw_session *s = &peers[7];
	FILE *made;

	end.u.ping.flags = KFB_PING_END;
	if (!raw_session_open(s, &id) || call_range(s, KFB_OP_ALLOC, BLOCKS) ||
	    call(s, &map))
		return false;
	made = fopen(file, "w");
	return made && !fclose(made) && !call(s, &end) &&
	       raw_receive(s->c, buf, &len, WAIT_MS) == RAW_ENDED;
}

/* A request in a slot of its own, whose answer is not waited for. */
static bool send_in(struct raw_session *s, uint16_t slot, uint32_t seq,
		    struct kfb_request *req)
{
	uint8_t buf[KFB_REQ_MAX_BYTES];
	int n;

	req->cookie.slot = slot;
	req->cookie.seq = seq;
	n = kfb_encode_request(req, buf, sizeof(buf));
	return n > 0 && !raw_send(s->c, buf, (size_t)n);
}

/* The next n replies are of these slots, in any order, with these statuses. */
static bool answer(struct raw_session *s, unsigned int n,
		   const unsigned int status[CREDITS])
{
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	bool came[CREDITS] = { false };

	for (unsigned int i = 0; i < n; i++) {
		size_t len = sizeof(buf);
		uint16_t slot;

		if (raw_receive(s->c, buf, &len, WAIT_MS) != RAW_ACCEPTED ||
		    kfb_decode_reply(buf, (uint32_t)len, &s->reply))
			return false;
		slot = s->reply.cookie.slot;
		if (slot >= CREDITS || came[slot] ||
		    s->reply.status != status[slot])
			return false;
		came[slot] = true;
	}
	return true;
}

static bool answers(struct raw_session *s, uint16_t slot, unsigned int status)
{
	unsigned int of[CREDITS];

	for (unsigned int i = 0; i < CREDITS; i++)
		of[i] = i == slot ? status : UINT16_MAX;
	return answer(s, 1, of);
}

static int credits(void)
{
	struct kfb_request list = { .op = KFB_OP_LIST };
	struct kfb_request ping = { .op = KFB_OP_PING };
	struct kfb_request unmap = { .op = KFB_OP_UNMAP };
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	size_t len = sizeof(buf);
	struct raw_session *s = &peers[0], *other = &peers[1];

	list.u.list.what = KFB_LIST_ALLOCATED;
	unmap.u.unmap.mapping_id = 1;
	CHECK(raw_session_open(s, &id));
	CHECK(raw_session_open(other, &id));
	CHECK(s->accepted.credits == CREDITS);
	CHECK(hold_registrar());
	for (uint16_t slot = 0; slot < FREE_CREDITS; slot++)
		CHECK(send_in(s, slot, 1, &list));
	/* The reserved ones serve what can give something back. */
	CHECK(send_in(s, FREE_CREDITS, 1, &ping));
	CHECK(answers(s, FREE_CREDITS, KFB_ST_OK));
	CHECK(send_in(s, FREE_CREDITS + 1, 1, &unmap));
	CHECK(answers(s, FREE_CREDITS + 1, KFB_ST_STALE));
	CHECK(send_in(s, FREE_CREDITS, 2, &ping));
	CHECK(answers(s, FREE_CREDITS, KFB_ST_OK));
	/* And nothing else. */
	CHECK(send_in(s, FREE_CREDITS, 3, &list));
	CHECK(raw_receive(s->c, buf, &len, WAIT_MS) == RAW_ENDED);
	CHECK(!call(other, &ping));
	CHECK(!unlink(file));
	return 0;
}

/* One has the block, and so many wait for it as may, in one session and in two. */
static int fill_places(struct raw_session *s, struct raw_session *other,
		       struct kfb_request *map)
{
	CHECK(hold_registrar());
	for (uint16_t slot = 0; slot < 3; slot++)
		CHECK(send_in(s, slot, 1, map));
	CHECK(send_in(s, 3, 1, map));
	CHECK(answers(s, 3, KFB_ST_AGAIN));
	/* Another session: one more. */
	CHECK(send_in(other, 0, 1, map));
	CHECK(send_in(other, 1, 1, map));
	CHECK(answers(other, 1, KFB_ST_AGAIN));
	return 0;
}

static int pending(void)
{
	static const unsigned int of_first[CREDITS] = { KFB_ST_OK, KFB_ST_BUSY,
							KFB_ST_BUSY };
	static const unsigned int of_other[CREDITS] = { KFB_ST_BUSY, UINT16_MAX,
							KFB_ST_OK };
	struct kfb_request map = map_of(0);
	struct raw_session *s = &peers[0], *other = &peers[1];

	CHECK(raw_session_open(s, &id));
	CHECK(raw_session_open(other, &id));
	CHECK(!fill_places(s, other, &map));
	/* What does not wait is not counted. */
	map = map_of(1);
	CHECK(send_in(other, 2, 1, &map));
	CHECK(!unlink(file));
	CHECK(answer(s, 3, of_first));
	CHECK(answer(other, 2, of_other));
	/* Those that waited do so no more. */
	map = map_of(0);
	CHECK(send_in(s, 4, 1, &map));
	CHECK(answers(s, 4, KFB_ST_BUSY));
	return 0;
}

static int shares(void)
{
	static const unsigned int of_first[CREDITS] = { KFB_ST_OK, KFB_ST_BUSY,
							KFB_ST_BUSY };
	struct kfb_request map = map_of(0);
	struct raw_session *s = &peers[0], *other = &peers[1];
	struct raw_session *theirs = &peers[2];

	CHECK(raw_session_open(s, &id));
	CHECK(raw_session_open(other, &id));
	CHECK(raw_session_open(theirs, &neighbour));
	CHECK(!fill_places(s, other, &map));
	/* Another client has all of its own. */
	CHECK(send_in(theirs, 0, 1, &map));
	CHECK(send_in(theirs, 1, 1, &map));
	CHECK(send_in(theirs, 2, 1, &map));
	CHECK(answers(theirs, 2, KFB_ST_AGAIN));
	CHECK(!unlink(file));
	CHECK(answer(s, 3, of_first));
	CHECK(answers(other, 0, KFB_ST_BUSY));
	for (uint16_t slot = 0; slot < 2; slot++)
		CHECK(answers(theirs, slot, KFB_ST_BUSY));
	/* Those that waited are counted no more. */
	CHECK(send_in(other, 2, 1, &map));
	CHECK(answers(other, 2, KFB_ST_BUSY));
	return 0;
}

/* The brick's registrar holds sessions that are ending. */
static int ending(void)
{
	struct kfb_request end = { .op = KFB_OP_PING }, auth;
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	size_t len = sizeof(buf);
	struct raw_session *s = &peers[0], *more = &peers[1];
	uint16_t status;

	end.u.ping.flags = KFB_PING_END;
	CHECK(hold_registrar());
	CHECK(raw_session_open(s, &id));
	CHECK(!call(s, &end));
	CHECK(raw_receive(s->c, buf, &len, WAIT_MS) == RAW_ENDED);
	CHECK(connects(more, &status));
	CHECK(raw_auth_request(more, id.client, id.key, &auth));
	CHECK(raw_call(more, &auth) == RAW_ACCEPTED);
	CHECK(more->reply.status == KFB_ST_LIMIT);
	CHECK(raw_session_open(&peers[2], &neighbour));
	CHECK(!unlink(file));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} all[] = {
		{ "strangers", strangers },    { "neighbours", neighbours },
		{ "silent", silent },	       { "sessions", sessions },
		{ "client", sessions_of_one }, { "mappings", mappings },
		{ "handles", handles },	       { "credits", credits },
		{ "pending", pending },	       { "shares", shares },
		{ "ending", ending },
	};
	int status = 2;

	if (argc < 7 || key_file_read(argv[4], id.key) ||
	    key_file_read(argv[6], neighbour.key) || sodium_init() < 0) {
		fprintf(stderr,
			"usage: %s WHAT BRICK CLIENT KEYFILE OTHERCLIENT "
			"KEYFILE [FILE]\n",
			argv[0]);
		return 2;
	}
	id.url = argv[2];
	id.client = argv[3];
	neighbour.url = argv[2];
	neighbour.client = argv[5];
	file = argv[7];
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(all[i].name, argv[1]))
			status = all[i].run();
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
		raw_session_close(&peers[i]);
	return status;
}
