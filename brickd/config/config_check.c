// SPDX-License-Identifier: BSD-2-Clause
/* The configuration as a whole: what is allowed, and the clients' keys. */
#include "brickd/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 64 digits and at most a newline or CR LF; one more shows a longer file. */
#define KEY_TEXT_MAX (2 * KFB_KEY_BYTES + 3)

/* "FILE:LINE: " before a message about what stands there. */
static void say_where(const struct brick_config *c, unsigned int line,
		      char *err, size_t err_len)
{
	char what[BRICK_ERR_BYTES];

	if (!c->file || !line)
		return;
	snprintf(what, sizeof(what), "%s", err);
	snprintf(err, err_len, "%s:%u: %s", c->file, line, what);
}

static int check_address(const struct brick_config *c,
			 const struct brick_address *a, char *err,
			 size_t err_len)
{
	char url[BRICK_URL_BYTES];

	if (a->loopback)
		return 0;
	brick_address_format(a, 0, url);
	/* What kind of link an interface is shows when it is bound to. */
	if (!a->scheme->is_rdma && !*a->interface && !c->allow_untrusted_tcp) {
		snprintf(
			err, err_len,
			"%s is not a loopback address: what tcp carries is not "
			"encrypted; name a WireGuard interface "
			"(tcp://10.9.0.1%%wg0), use verbs, a loopback address, "
			"or allow-untrusted-tcp = yes",
			url);
		return -EINVAL;
	}
	if (c->auth == BRICK_AUTH_NONE && !c->allow_remote_anonymous) {
		snprintf(err, err_len,
			 "auth = none on %s would let anybody in who reaches "
			 "it; use a loopback address or "
			 "allow-remote-anonymous = yes",
			 url);
		return -EINVAL;
	}
	return 0;
}

static int check_addresses(struct brick_config *c, char *err, size_t err_len)
{
	if (!c->n_listen &&
	    brick_config_add_listen(c, "tcp://127.0.0.1", err, err_len))
		return -EINVAL;
	for (uint32_t i = 0; i < c->n_listen; i++)
		if (check_address(c, &c->listen[i], err, err_len)) {
			say_where(c, c->listen_line[i], err, err_len);
			return -EINVAL;
		}
	return 0;
}

static int check_metrics(const struct brick_config *c, char *err,
			 size_t err_len)
{
	char url[BRICK_URL_BYTES];

	if (!c->has_metrics || c->metrics.loopback || c->allow_remote_metrics)
		return 0;
	brick_address_format(&c->metrics, 0, url);
	snprintf(err, err_len,
		 "metrics on %s can be read by everybody who reaches it; use "
		 "a loopback address or allow-remote-metrics = yes",
		 strstr(url, "://") + strlen("://"));
	say_where(c, c->metrics_line, err, err_len);
	return -EINVAL;
}

int brick_config_check(struct brick_config *c, char *err, size_t err_len)
{
	if (!c->store) {
		snprintf(err, err_len,
			 "no store: set store in [brick] or use --store");
		return -EINVAL;
	}
	if (check_addresses(c, err, err_len) || check_metrics(c, err, err_len))
		return -EINVAL;
	if (c->fences && c->reservations &&
	    !strcmp(c->fences, c->reservations)) {
		snprintf(err, err_len,
			 "fences and reservations name the same file: each "
			 "needs one of its own");
		return -EINVAL;
	}
	if (c->limits.tier_low_percent >= c->limits.tier_high_percent) {
		snprintf(err, err_len, "tier-low is not below tier-high");
		return -EINVAL;
	}
	if (c->auth == BRICK_AUTH_REQUIRED && !c->n_clients) {
		snprintf(err, err_len,
			 "no [client NAME] section: nobody could connect");
		return -EINVAL;
	}
	for (uint32_t i = 0; i < c->n_clients; i++) {
		const struct brick_client *client = c->clients[i];

		if (!client->n_keys)
			snprintf(err, err_len,
				 "client %s has no key-file: make one with "
				 "brickctl keygen",
				 client->name);
		else if (client->is_fencer && !c->fences)
			snprintf(err, err_len,
				 "client %s has the role fencer, and fences in "
				 "[brick] names no file to keep fences in",
				 client->name);
		else
			continue;
		say_where(c, client->line, err, err_len);
		return -EINVAL;
	}
	return 0;
}

static int compare_spans(const void *a, const void *b)
{
	const struct brick_span *one = a, *other = b;

	return (one->first > other->first) - (one->first < other->first);
}

int brick_config_writable(const struct brick_config *c, uint64_t *n_blocks)
{
	uint64_t n = 0, end = 0, blocks = 0;
	struct brick_span *spans;

	for (uint32_t i = 0; i < c->n_clients; i++)
		n += c->clients[i]->grants.n_rw;
	spans = calloc(n + 1, sizeof(*spans));
	if (!spans)
		return -ENOMEM;
	n = 0;
	for (uint32_t i = 0; i < c->n_clients; i++) {
		const struct brick_grants *g = &c->clients[i]->grants;

		memcpy(&spans[n], g->rw, g->n_rw * sizeof(*spans));
		n += g->n_rw;
	}
	qsort(spans, n, sizeof(*spans), compare_spans);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t first = spans[i].first > end ? spans[i].first : end;

		if (spans[i].end <= first)
			continue;
		blocks += spans[i].end - first;
		end = spans[i].end;
	}
	free(spans);
	*n_blocks = blocks;
	return 0;
}

static int check_key_mode(int fd, const char *path, char *err, size_t err_len)
{
	struct stat st;

	if (fstat(fd, &st)) {
		snprintf(err, err_len, "%s cannot be looked at", path);
		return -errno;
	}
	if (!S_ISREG(st.st_mode)) {
		snprintf(err, err_len, "%s is not a file", path);
		return -EINVAL;
	}
	if (st.st_mode & (S_IRWXG | S_IRWXO)) {
		snprintf(err, err_len,
			 "%s has mode %04o: others may read the key; "
			 "chmod 600 it",
			 path, (unsigned int)st.st_mode & 07777);
		return -EACCES;
	}
	if (st.st_uid && st.st_uid != geteuid()) {
		snprintf(err, err_len,
			 "%s belongs to uid %u, neither to root nor to uid %u",
			 path, (unsigned int)st.st_uid,
			 (unsigned int)geteuid());
		return -EACCES;
	}
	return 0;
}

static int read_key(int fd, uint8_t key[KFB_KEY_BYTES])
{
	char text[KEY_TEXT_MAX];
	size_t bytes;
	ssize_t n;
	int rc = -EINVAL;

	n = read(fd, text, sizeof(text));
	if (n < 0)
		return -errno;
	while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	if (n == 2 * KFB_KEY_BYTES &&
	    !sodium_hex2bin(key, KFB_KEY_BYTES, text, (size_t)n, NULL, &bytes,
			    NULL) &&
	    bytes == KFB_KEY_BYTES)
		rc = 0;
	sodium_memzero(text, sizeof(text));
	return rc;
}

static int load_key(const struct brick_client *client, struct brick_key *key,
		    char *err, size_t err_len)
{
	const char *path = key->file;
	int fd, rc;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		rc = -errno;
		snprintf(err, err_len, "key of client %s: %s: %s", client->name,
			 path, strerror(-rc));
		return rc;
	}
	rc = check_key_mode(fd, path, err, err_len);
	if (!rc) {
		rc = read_key(fd, key->bytes);
		if (rc)
			snprintf(err, err_len,
				 "%s does not hold 64 hex digits: make a key "
				 "with brickctl keygen",
				 path);
	}
	close(fd);
	return rc;
}

int brick_config_load_keys(struct brick_config *c, char *err, size_t err_len)
{
	for (uint32_t i = 0; i < c->n_clients; i++) {
		struct brick_client *client = c->clients[i];

		for (uint32_t k = 0; k < client->n_keys; k++) {
			struct brick_key *key = &client->keys[k];
			int rc = load_key(client, key, err, err_len);

			if (rc) {
				say_where(c, client->line, err, err_len);
				return rc;
			}
			key->id = ++c->last_key_id;
		}
	}
	return 0;
}
