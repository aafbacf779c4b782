// SPDX-License-Identifier: BSD-2-Clause
/*
 * A key that the device does not let go of: slow_unmap BRICK CLIENT KEYFILE FILE
 *
 * While FILE exists the brick's device closes no registration. UNMAP then costs
 * the connection; on the next one the same request is asked again while it
 * still runs, and answered once when the device is done.
 */
#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

#include "key_file.h"
#include "proto/kfb_err.h"
#include "raw_session.h"

#define WAIT_MS 60000

#define CHECK(what)                                                        \
	do {                                                               \
		if (!(what)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #what); \
			return 1;                                          \
		}                                                          \
	} while (0)

static bool call(struct raw_session *s, struct kfb_request *req)
{
	return raw_call(s, req) == RAW_ACCEPTED && s->reply.status == KFB_ST_OK;
}

static bool make_file(const char *path)
{
	FILE *file = fopen(path, "w");

	return file && !fclose(file);
}

static int run(const struct raw_identity *id, const char *file)
{
	struct kfb_request alloc = { .op = KFB_OP_ALLOC };
	struct kfb_request map = { .op = KFB_OP_MAP };
	struct kfb_request unmap = { .op = KFB_OP_UNMAP };
	struct kfb_request ping = { .op = KFB_OP_PING };
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	struct raw_session s, again;
	size_t len = sizeof(buf);
	int n;

	CHECK(raw_session_open(&s, id));
	alloc.u.range.n_blocks = 1;
	CHECK(call(&s, &alloc));
	map.u.map.range.n_blocks = 1;
	map.u.map.flags = KFB_MAP_RW | KFB_MAP_EXCLUSIVE;
	CHECK(call(&s, &map));
	unmap.u.unmap.mapping_id = s.reply.u.map.mapping_id;
	CHECK(make_file(file));
	CHECK(raw_call(&s, &unmap) == RAW_ENDED);
	CHECK(raw_session_join(&again, &s, id, 0, 1));
	again.seq--;
	n = raw_encode(&again, &unmap, buf, sizeof(buf));
	CHECK(n > 0 && !raw_send(again.c, buf, n));
	CHECK(!unlink(file));
	CHECK(raw_receive(again.c, buf, &len, WAIT_MS) == RAW_ACCEPTED);
	CHECK(!kfb_decode_reply(buf, len, &again.reply));
	CHECK(again.reply.op == KFB_OP_UNMAP && !again.reply.status);
	CHECK(again.reply.cookie.seq == again.seq);
	/* One reply: the next one is the next request's. */
	CHECK(call(&again, &ping) && again.reply.op == KFB_OP_PING);
	raw_session_close(&s);
	alloc.op = KFB_OP_FREE;
	CHECK(call(&again, &alloc));
	ping.u.ping.flags = KFB_PING_END;
	CHECK(call(&again, &ping));
	raw_session_close(&again);
	return 0;
}

int main(int argc, char **argv)
{
	struct raw_identity id = { 0 };

	if (argc != 5 || key_file_read(argv[3], id.key) || sodium_init() < 0) {
		fprintf(stderr, "usage: %s BRICK CLIENT KEYFILE FILE\n",
			argv[0]);
		return 2;
	}
	id.url = argv[1];
	id.client = argv[2];
	return run(&id, argv[4]);
}
