// SPDX-License-Identifier: BSD-2-Clause
/*
 * Connections: a configuration's memory, name to addresses, and the first
 * session at one of them.
 */
#include <errno.h>
#include <netdb.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "kfb_err.h"

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

static void random_bytes(void *ctx, void *buf, __u32 len)
{
	randombytes_buf(buf, len);
}

static int init_client(struct kfbrick *k, const uint8_t *expect_uuid)
{
	struct kfb_initiator_config config = {
		.client = {
			.engine = {
				.hmac.compute = hmac_sha256,
				.client_name = k->client_name,
				.key = k->key,
				.granted = &k->granted,
				.features = KFB_FEATURE_EVENT |
					    KFB_FEATURE_QUOTA |
					    KFB_FEATURE_EVICTED |
					    KFB_FEATURE_RATE |
					    (k->reconnect_ms ?
						     KFB_FEATURE_RESUME : 0),
			},
			.random = random_bytes,
			.n_queues = k->n_queues,
			.timeout_ms = k->timeout_ms,
			.reconnect_ms = k->reconnect_ms,
		},
		.volatile_error = -EOPNOTSUPP,
		.over_error = -ECONNRESET,
		.gives_flushes_up = true,
	};
	uint32_t i;

	/* There the brick answers when the bytes are where they belong. */
	if (k->fabric.delivery_complete)
		config.client.info_flags = KFB_INFO_ACK_IS_PLACED;
	if (expect_uuid)
		memcpy(config.client.engine.expect_uuid, expect_uuid,
		       KFB_UUID_BYTES);
	memset(&k->core, 0, sizeof(k->core));
	for (i = 0; i < k->n_queues; i++)
		kfb_initiator_add_queue(&k->core, &k->queues[i].core, i);
	return kfb_initiator_init(&k->core, &kfbl_initiator_ops, &config,
				  k->tx);
}

static int bad_config(const char *why)
{
	return kfbl_fail(NULL, -EINVAL, "configuration of a connection: %s",
			 why);
}

static int newer_config(void)
{
	return kfbl_fail(NULL, -E2BIG,
			 "configuration of a connection: it has settings that "
			 "this libkfbrick, %u.%u.%u, does not know; use a "
			 "newer one",
			 KFBRICK_VERSION_MAJOR, KFBRICK_VERSION_MINOR,
			 KFBRICK_VERSION_PATCH);
}

/* What is set where a later version may have settings. */
static bool has_reserved(const struct kfbrick_config *config)
{
	static const uint8_t none[sizeof(config->reserved)];

	return memcmp(config->reserved, none, sizeof(none)) != 0;
}

static int check_config(const struct kfbrick_config *config)
{
	if (!config->brick)
		return bad_config("no brick is named");
	if (config->client && !config->key)
		return bad_config("a client needs a key");
	if (config->client &&
	    (!*config->client || strlen(config->client) > KFB_NAME_MAX))
		return bad_config("a client's name has 1 to 40 characters");
	if (config->queue_depth > KFBL_QUEUE_DEPTH_MAX)
		return bad_config("queue_depth is at most 1024");
	if (config->queues > KFBL_QUEUES_MAX)
		return bad_config("queues are at most 8");
	if (config->retain_bytes &&
	    (config->retain_bytes < KFBRICK_RETAIN_MIN_BYTES ||
	     config->retain_bytes > UINT64_C(4) << 30))
		return bad_config("retain_bytes are 4 MiB to 4 GiB, or 0");
	/* A size_t may be of 32 bits. */
	if ((size_t)config->retain_bytes != config->retain_bytes)
		return bad_config("retain_bytes are more than there can be "
				  "memory in one piece");
	if (config->retain_bytes && !config->reconnect_ms)
		return bad_config("copies need a connection that comes back: "
				  "reconnect_ms is 0");
	return 0;
}

/* All control messages are in one piece of memory, registered once. */
static int alloc_control(struct kfbrick *k)
{
	size_t rx = (size_t)KFB_INITIATOR_RX_MAX * KFB_REPLY_MAX_BYTES;
	size_t readback = KFB_FLUSH_PLACES * KFB_READBACK_BYTES;
	size_t bounce = KFBL_BOUNCE_CHUNKS * (size_t)KFBL_BOUNCE_CHUNK_BYTES;
	size_t tx = (size_t)KFB_CLIENT_TX_BYTES(k->n_queues);
	uint32_t i;

	k->control_bytes = k->n_queues * (rx + readback) + tx + bounce;
	k->control = calloc(1, k->control_bytes);
	k->queues = calloc(k->n_queues, sizeof(*k->queues));
	if (!k->control || !k->queues)
		return -ENOMEM;
	k->tx = k->control + k->n_queues * rx;
	k->bounce = k->tx + tx;
	for (i = 0; i < k->n_queues; i++) {
		struct kfbl_queue *q = &k->queues[i];

		q->rx = k->control + i * rx;
		q->readback = k->bounce + bounce + i * readback;
		TAILQ_INIT(&q->in_flight);
		TAILQ_INIT(&q->again);
	}
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
	k->epoll_fd = -1;
	k->timer_fd = -1;
	LIST_INIT(&k->mappings);
	k->timeout_ms = config->timeout_ms ? config->timeout_ms
					   : KFBL_TIMEOUT_MS_DEFAULT;
	k->queue_depth = config->queue_depth ? config->queue_depth
					     : KFBL_QUEUE_DEPTH_DEFAULT;
	k->n_queues = config->queues ? config->queues : 1;
	k->reconnect_ms = config->reconnect_ms;
	k->retain.want_bytes = config->retain_bytes;
	k->allow_untrusted_tcp = config->allow_untrusted_tcp;
	if (config->client) {
		memcpy(k->key, config->key, sizeof(k->key));
		k->client_name = strdup(config->client);
		if (!k->client_name)
			return -ENOMEM;
	}
	rc = alloc_control(k);
	if (!rc)
		rc = kfbl_retain_init(k);
	if (rc)
		return rc;
	kfb_blockmap_init(&k->map, NULL, 0);
	return kfbl_io_init(k);
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
	if (!k->retain.n_pages)
		return 0;
	rc = kfbl_fabric_register(&k->fabric, k->retain.bytes,
				  kfbl_retain_bytes(&k->retain),
				  &k->fabric.retain_mr);
	if (rc)
		return kfbl_fail(
			k, rc,
			"cannot register %zu bytes of copies for %s: %s; is "
			"LimitMEMLOCK (ulimit -l) large enough?",
			kfbl_retain_bytes(&k->retain), k->url.text,
			strerror(-rc));
	return 0;
}

static int connect_address(struct kfbrick *k, const char *address,
			   const uint8_t *expect_uuid)
{
	const char *what;
	uint64_t until_ms;
	int rc;

	rc = kfbl_fabric_open(&k->fabric, &k->url, address, k->queue_depth,
			      &what);
	if (rc == -ENODATA)
		return kfbl_fail(
			k, -EHOSTUNREACH,
			"cannot %s to %s: the provider %s has no way there; "
			"fi_info shows what libfabric's have",
			what, k->url.text, k->url.scheme->name);
	if (rc)
		return kfbl_fail(k, rc, "cannot %s to %s: %s", what,
				 k->url.text, strerror(-rc));
	rc = register_control(k);
	if (rc)
		return rc;
	rc = init_client(k, expect_uuid);
	if (!rc)
		rc = kfb_client_start(&k->core.client);
	if (rc)
		return kfbl_fail(k, rc, "cannot begin a session: %s",
				 strerror(-rc));
	/* HELLO, AUTH and INFO, each in its time. */
	until_ms = kfbl_now_ms() + 3 * (uint64_t)k->timeout_ms;
	while (!kfbl_is_live(k)) {
		if (kfbl_is_over(k))
			return kfbl_fail(k, kfb_client_error(&k->core.client),
					 "%s: %s", k->url.text, kfbl_why(k));
		if (kfbl_now_ms() >= until_ms)
			return kfbl_fail(k, -ETIMEDOUT,
					 "%s does not answer within %u ms",
					 k->url.text, k->timeout_ms);
		if (!kfbl_progress(k))
			kfbl_wait(k, until_ms);
	}
	return 0;
}

/* Try the host's addresses in turn, until one accepts or the time is over. */
static int connect_host(struct kfbrick *k, const uint8_t *expect_uuid)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	struct addrinfo *at;
	int rc;

	rc = getaddrinfo(k->url.host, k->url.port, &hints, &found);
	if (rc)
		return kfbl_fail(k, -EHOSTUNREACH, "%s: no host \"%s\": %s",
				 k->url.text, k->url.host, gai_strerror(rc));
	rc = -EHOSTUNREACH;
	for (at = found; at; at = at->ai_next) {
		char address[NI_MAXHOST];

		if (getnameinfo(at->ai_addr, at->ai_addrlen, address,
				sizeof(address), NULL, 0, NI_NUMERICHOST))
			continue;
		rc = connect_address(k, address, expect_uuid);
		/* An address that answers is the one that was meant. */
		if (!rc || k->core.client.session_id || rc == -ETIMEDOUT ||
		    rc == -EPROTO || !at->ai_next)
			break;
		kfbl_session_end(k);
		kfbl_fabric_close(&k->fabric);
	}
	freeaddrinfo(found);
	return rc;
}

uint32_t kfbrick_version(void)
{
	return KFBRICK_VERSION;
}

size_t kfbrick_get_grants(const struct kfbrick *k, struct kfbrick_grant *grants,
			  size_t max)
{
	size_t i;

	for (i = 0; i < k->granted.n && i < max; i++) {
		grants[i].va = k->granted.list[i].va;
		grants[i].n_blocks = k->granted.list[i].n_blocks;
		grants[i].access = k->granted.list[i].access;
	}
	return k->granted.n;
}

int kfbrick_connect(const struct kfbrick_config *config, struct kfbrick **out)
{
	struct kfbrick_config whole; /* the caller's, of whatever version */
	struct kfbrick *k = NULL;
	int rc;

	*out = NULL;
	if (!config || config->size < offsetof(struct kfbrick_config, client))
		return bad_config("size must be sizeof(struct kfbrick_config)");
	if (kfbl_take_sized(&whole, sizeof(whole), config, config->size) ||
	    has_reserved(&whole))
		return newer_config();
	rc = check_config(&whole);
	if (rc)
		return rc;
	rc = alloc_connection(&whole, &k);
	if (rc) {
		kfbrick_close(k);
		return kfbl_fail(NULL, rc, "no memory for a connection");
	}
	rc = kfbl_url_parse(whole.brick, &k->url, k->error, sizeof(k->error));
	if (!rc)
		rc = connect_host(k, whole.expect_uuid);
	if (rc) {
		kfbl_session_end(k);
		kfbl_fail(NULL, rc, "%s", k->error);
	}
	*out = k;
	return rc;
}

void kfbrick_close(struct kfbrick *k)
{
	struct kfb_initiator_call end;

	if (!k)
		return;
	if (k->is_connected && kfb_initiator_leave(&k->core, &end))
		(void)kfbl_wait_call(k, &end);
	kfbl_session_end(k);
	kfbl_memory_fini(k);
	kfbl_fabric_close(&k->fabric);
	kfbl_retain_fini(k);
	kfbl_unwatch(k);
	kfbl_map_fini(k);
	free(k->restore.handles);
	kfbl_io_fini(k);
	free(k->control);
	free(k->queues);
	free(k->client_name);
	sodium_memzero(k, sizeof(*k));
	free(k);
}
