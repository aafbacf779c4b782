// SPDX-License-Identifier: BSD-2-Clause
/*
 * Connects: name to addresses, address to endpoint, HELLO, AUTH, INFO.
 */
#include <errno.h>
#include <netdb.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "kfb_err.h"

/* Room for a CM event and the private data that comes with it. */
union cm_event {
	struct fi_eq_cm_entry entry;
	uint8_t bytes[sizeof(struct fi_eq_cm_entry) + 256];
};

static int hmac_sha256(void *ctx, const __u8 key[KFB_KEY_BYTES],
		       const struct kfb_iov *parts, unsigned int n,
		       __u8 mac[KFB_MAC_BYTES])
{
	crypto_auth_hmacsha256_state state;
	unsigned int i;

	crypto_auth_hmacsha256_init(&state, key, KFB_KEY_BYTES);
	for (i = 0; i < n; i++)
		crypto_auth_hmacsha256_update(&state, parts[i].base,
					      parts[i].len);
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_memzero(&state, sizeof(state));
	return 0;
}

static int init_engine(struct kfbrick *k, const uint8_t *expect_uuid)
{
	struct kfb_engine_config config = {
		.hmac.compute = hmac_sha256,
		.client_name = k->client,
		.key = k->key,
		.features = KFB_FEATURE_EVENT,
	};

	if (expect_uuid)
		memcpy(config.expect_uuid, expect_uuid, KFB_UUID_BYTES);
	randombytes_buf(config.nonce, sizeof(config.nonce));
	return kfb_engine_init(&k->engine, &config,
			       k->rx + (size_t)KFBL_RX_MAX *
					       KFB_REPLY_MAX_BYTES);
}

static int bad_config(const char *why)
{
	return kfbl_fail(NULL, -EINVAL, "configuration of a connection: %s",
			 why);
}

static int check_config(const struct kfbrick_config *config)
{
	if (!config || config->size != sizeof(*config))
		return bad_config("size must be sizeof(struct kfbrick_config)");
	if (!config->brick)
		return bad_config("no brick is named");
	if (config->client && !config->key)
		return bad_config("a client needs a key");
	if (config->client &&
	    (!*config->client || strlen(config->client) > KFB_NAME_MAX))
		return bad_config("a client's name has 1 to 40 characters");
	if (config->queue_depth > KFBL_QUEUE_DEPTH_MAX)
		return bad_config("queue_depth is at most 1024");
	return 0;
}

/* One piece of memory, registered once, for all control messages. */
static int alloc_control(struct kfbrick *k)
{
	size_t rx = (size_t)KFBL_RX_MAX * KFB_REPLY_MAX_BYTES;
	size_t readback = KFB_FLUSH_POSTED_MAX * KFB_READBACK_BYTES;
	size_t bounce = KFBL_BOUNCE_CHUNKS * (size_t)KFBL_BOUNCE_CHUNK_BYTES;

	k->control_bytes = rx + KFB_ENGINE_TX_BYTES + readback + bounce;
	k->control = calloc(1, k->control_bytes);
	if (!k->control)
		return -ENOMEM;
	k->rx = k->control;
	k->readback = k->rx + rx + KFB_ENGINE_TX_BYTES;
	k->bounce = k->readback + readback;
	return 0;
}

static int alloc_connection(const struct kfbrick_config *config,
			    struct kfbrick **out)
{
	struct kfbrick *k;
	int rc;

	if (sodium_init() < 0)
		return -EIO;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	*out = k;
	k->fabric.epoll_fd = -1;
	LIST_INIT(&k->mappings);
	k->timeout_ms = config->timeout_ms ? config->timeout_ms
					   : KFBL_TIMEOUT_MS_DEFAULT;
	k->queue_depth = config->queue_depth ? config->queue_depth
					     : KFBL_QUEUE_DEPTH_DEFAULT;
	if (config->client) {
		memcpy(k->key, config->key, sizeof(k->key));
		k->client = strdup(config->client);
		if (!k->client)
			return -ENOMEM;
	}
	rc = alloc_control(k);
	if (rc)
		return rc;
	kfb_blockmap_init(&k->map, NULL, 0);
	kfb_flush_init(&k->flush, KFB_FLUSH_POSTED_MAX);
	rc = kfbl_io_init(k);
	if (rc)
		return rc;
	return init_engine(k, config->expect_uuid);
}

static int rejected(struct kfbrick *k, const struct fi_eq_err_entry *error)
{
	struct kfb_reject reject;
	int rc;

	rc = kfb_engine_rejected(&k->engine, error->err_data,
				 (uint32_t)error->err_data_size, &reject);
	if (reject.status)
		return kfbl_fail(k, rc, "%s refuses the connection: %s",
				 k->url.text, kfb_status_text(reject.status));
	if (error->err == FI_ECONNREFUSED)
		return kfbl_fail(k, -ECONNREFUSED,
				 "%s refuses the connection: is brickd running "
				 "there, on this port and this fabric?",
				 k->url.text);
	rc = kfbl_errno(-error->err);
	if (rc != -ETIMEDOUT)
		rc = rc == -ENETUNREACH || rc == -EHOSTDOWN ? -EHOSTUNREACH
							    : rc;
	return kfbl_fail(k, rc, "cannot connect to %s: %s", k->url.text,
			 fi_strerror(error->err));
}

/* The answer to our connection request. */
static int wait_accept(struct kfbrick *k, uint64_t until_ms)
{
	struct fi_eq_err_entry error = { 0 };
	uint8_t reject[256];
	union cm_event cm;
	uint64_t now_ms;
	uint32_t event;
	ssize_t n;
	int rc;

	do {
		now_ms = kfbl_now_ms();
		if (now_ms >= until_ms)
			return kfbl_fail(k, -ETIMEDOUT,
					 "%s does not answer within %u ms",
					 k->url.text, k->timeout_ms);
		n = fi_eq_sread(k->fabric.eq, &event, &cm, sizeof(cm),
				(int)(until_ms - now_ms), 0);
	} while (n == -FI_EAGAIN || n == -FI_EINTR || n == -FI_ETIMEDOUT);

	if (n == -FI_EAVAIL) {
		error.err_data = reject;
		error.err_data_size = sizeof(reject);
		if (fi_eq_readerr(k->fabric.eq, &error, 0) < 0)
			error.err = FI_ECONNREFUSED;
		return rejected(k, &error);
	}
	if (n < (ssize_t)sizeof(cm.entry) || event != FI_CONNECTED)
		return kfbl_fail(k, -ECONNREFUSED,
				 "%s closed the connection before accepting it",
				 k->url.text);
	rc = kfb_engine_accepted(&k->engine, cm.entry.data,
				 (uint32_t)(n - (ssize_t)sizeof(cm.entry)));
	if (rc)
		return kfbl_fail(k, rc, "%s is no brick of this protocol",
				 k->url.text);
	return 0;
}

static int register_control(struct kfbrick *k)
{
	int rc;

	if (!k->fabric.mr_local)
		return 0;
	rc = kfbl_fabric_register(&k->fabric, k->control, k->control_bytes,
				  &k->fabric.control_mr);
	if (rc)
		return kfbl_fail(k, rc,
				 "cannot register %zu bytes for %s: %s; is "
				 "LimitMEMLOCK (ulimit -l) large enough?",
				 k->control_bytes, k->url.text, strerror(-rc));
	k->fabric.control_desc = fi_mr_desc(k->fabric.control_mr);
	return 0;
}

static int connect_address(struct kfbrick *k, const char *address,
			   uint64_t until_ms)
{
	const __u8 *hello;
	const char *what;
	__u32 len;
	int rc;

	rc = kfbl_fabric_open(&k->fabric, &k->url, address, k->queue_depth,
			      &what);
	if (rc == -ENODATA)
		return kfbl_fail(
			k, -EHOSTUNREACH,
			"cannot %s to %s: libfabric's provider %s has "
			"no way there; fi_info -p %s shows what it has",
			what, k->url.text, k->url.provider, k->url.provider);
	if (rc)
		return kfbl_fail(k, rc, "cannot %s to %s: %s", what,
				 k->url.text, strerror(-rc));
	rc = register_control(k);
	if (rc)
		return rc;
	/* For what may come right after the accept. */
	k->n_rx = 0;
	rc = kfbl_post_receives(k, KFB_CREDITS_MIN + KFB_EVENTS_UNACKED_MAX);
	if (rc)
		return kfbl_fail(k, rc, "cannot post a receive: %s",
				 strerror(-rc));
	rc = kfb_engine_hello(&k->engine, &hello, &len);
	if (!rc)
		rc = kfbl_errno(fi_connect(
			k->fabric.ep, k->fabric.info->dest_addr, hello, len));
	if (rc)
		return kfbl_fail(k, rc, "cannot connect to %s: %s", k->url.text,
				 strerror(-rc));
	return wait_accept(k, until_ms);
}

/* The host's addresses in turn, until one accepts or the time is over. */
static int connect_host(struct kfbrick *k)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	uint64_t until_ms = kfbl_now_ms() + k->timeout_ms;
	struct addrinfo *found;
	struct addrinfo *at;
	int rc;

	rc = getaddrinfo(k->url.host, k->url.port, &hints, &found);
	if (rc)
		return kfbl_fail(k, -EHOSTUNREACH, "%s: no host \"%s\": %s",
				 k->url.text, k->url.host, gai_strerror(rc));
	rc = -EHOSTUNREACH;
	for (at = found; at; at = at->ai_next) {
		uint8_t nonce[KFB_NONCE_BYTES];
		char address[NI_MAXHOST];

		if (getnameinfo(at->ai_addr, at->ai_addrlen, address,
				sizeof(address), NULL, 0, NI_NUMERICHOST))
			continue;
		rc = connect_address(k, address, until_ms);
		if (!rc || rc == -ETIMEDOUT || rc == -EPROTO)
			break;
		if (!at->ai_next)
			break;
		kfbl_fabric_close(&k->fabric);
		kfb_engine_lost(&k->engine);
		randombytes_buf(nonce, sizeof(nonce));
		kfb_engine_again(&k->engine, nonce);
	}
	freeaddrinfo(found);
	return rc;
}

/* What the brick is, and whether this library can make its writes durable. */
static int learn(struct kfbrick *k, const uint8_t *expect_uuid)
{
	struct kfb_request req = { .op = KFB_OP_INFO };
	const struct kfb_info *info = &k->call_reply.u.info;
	struct kfb_outcome outcome;
	int rc;

	rc = kfbl_call(k, &req, &outcome);
	if (rc)
		return rc;
	if (outcome.error)
		return kfbl_refused(k, &outcome, "INFO");
	if (expect_uuid &&
	    memcmp(info->brick_uuid, expect_uuid, KFB_UUID_BYTES))
		return kfbl_fail(k, -ESTALE,
				 "%s is another brick than expected",
				 k->url.text);
	if (info->block_shift != KFB_BLOCK_SHIFT)
		return kfbl_fail(k, -EPROTONOSUPPORT,
				 "%s has blocks of another size than 2 MiB",
				 k->url.text);
	memcpy(k->uuid, info->brick_uuid, sizeof(k->uuid));
	return kfbl_flush_check_mode(k, info->flush_mode);
}

static int connect_all(struct kfbrick *k, const uint8_t *expect_uuid)
{
	int rc;

	rc = connect_host(k);
	if (rc)
		return rc;
	rc = kfbl_post_receives(k, k->engine.accept.credits +
					   KFB_EVENTS_UNACKED_MAX);
	if (rc)
		return kfbl_fail(k, rc, "cannot post a receive: %s",
				 strerror(-rc));
	if (k->client) {
		rc = kfbl_wait_auth(k);
		if (rc)
			return rc;
	}
	return learn(k, expect_uuid);
}

int kfbrick_connect(const struct kfbrick_config *config, struct kfbrick **out)
{
	struct kfbrick *k = NULL;
	int rc;

	*out = NULL;
	rc = check_config(config);
	if (rc)
		return rc;
	rc = alloc_connection(config, &k);
	if (rc) {
		kfbrick_close(k);
		return kfbl_fail(NULL, rc, "no memory for a connection");
	}
	rc = kfbl_url_parse(config->brick, &k->url);
	if (rc)
		kfbl_fail(k, rc,
			  "\"%s\" names no brick: tcp://HOST[:PORT] or "
			  "verbs://HOST[:PORT] does",
			  config->brick);
	else
		rc = connect_all(k, config->expect_uuid);
	if (rc) {
		if (!k->lost)
			kfbl_lost(k, rc, "it was never made");
		kfbl_fail(NULL, rc, "%s", k->error);
	}
	*out = k;
	return rc;
}

/* Goodbye: else what this session has stays until its lease ends. */
static void end_session(struct kfbrick *k)
{
	struct kfb_request end = { .op = KFB_OP_PING,
				   .u.ping.flags = KFB_PING_END };
	struct kfb_outcome outcome;

	if (k->lost || kfb_engine_state(&k->engine) != KFB_CONN_READY)
		return;
	if (k->timeout_ms > KFBL_GOODBYE_MS)
		k->timeout_ms = KFBL_GOODBYE_MS;
	kfbl_call(k, &end, &outcome);
}

void kfbrick_close(struct kfbrick *k)
{
	if (!k)
		return;
	end_session(k);
	kfbl_fabric_disconnect(&k->fabric);
	kfbl_memory_fini(k);
	kfbl_fabric_close(&k->fabric);
	kfbl_map_fini(k);
	kfbl_io_fini(k);
	free(k->control);
	free(k->client);
	sodium_memzero(k, sizeof(*k));
	free(k);
}
