// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Grants.
 *
 * Context: any.
 */
#include <linux/string.h>
#include "../wire/wire_bytes.h"
#include "rdmw_grant.h"

#define AT_KEY	  0
#define AT_NATIVE 8
#define AT_ADDR	  16
#define AT_LEN	  24
#define AT_ACCESS 32
#define AT_ROOM	  33

void rdmw_grant_pack(const struct rdmw_grant *grant, __u8 *out)
{
	memset(out, 0, RDMW_GRANT_BYTES);
	wire_put(out + AT_KEY, 8, grant->key);
	wire_put(out + AT_NATIVE, 8, grant->native_key);
	wire_put(out + AT_ADDR, 8, grant->addr);
	wire_put(out + AT_LEN, 8, grant->len);
	out[AT_ACCESS] = grant->access;
}

static enum rdmw_violation rdmw_grant_parse(const struct rdmw_piece *piece,
					    const __u8 *in,
					    struct rdmw_grant *grant)
{
	if (piece->bytes != RDMW_GRANT_BYTES)
		return RDMW_BAD_LENGTH;
	if (!wire_is_zero(in + AT_ROOM, RDMW_GRANT_BYTES - AT_ROOM))
		return RDMW_BAD_RESERVED;
	*grant = (struct rdmw_grant){
		.key = wire_get(in + AT_KEY, 8),
		.native_key = wire_get(in + AT_NATIVE, 8),
		.addr = wire_get(in + AT_ADDR, 8),
		.len = wire_get(in + AT_LEN, 8),
		.access = in[AT_ACCESS],
	};
	if (!grant->access ||
	    (grant->access & ~(RDMW_MAY_READ | RDMW_MAY_WRITE)))
		return RDMW_BAD_FIELD;
	/* Whatever is within it has an address. */
	return grant->addr + grant->len < grant->addr ? RDMW_BAD_FIELD
						      : RDMW_OK;
}

static struct rdmw_grant *rdmw_grant_of(struct rdmw_grants *grants, __u64 key)
{
	__u32 i;

	for (i = 0; i < RDMW_GRANTS_MAX; i++)
		if (grants->grants[i].access && grants->grants[i].key == key)
			return &grants->grants[i];
	return NULL;
}

enum rdmw_violation rdmw_grants_add(struct rdmw_grants *grants,
				    const struct rdmw_piece *piece,
				    const __u8 *in)
{
	struct rdmw_grant grant;
	enum rdmw_violation bad = rdmw_grant_parse(piece, in, &grant);
	__u32 i;

	if (bad)
		return bad;
	if (rdmw_grant_of(grants, grant.key))
		return RDMW_BAD_GRANT;
	for (i = 0; i < RDMW_GRANTS_MAX; i++) {
		if (grants->grants[i].access)
			continue;
		grants->grants[i] = grant;
		return RDMW_OK;
	}
	return RDMW_BAD_GRANT;
}

struct rdmw_grant *rdmw_grants_find(struct rdmw_grants *grants,
				    const struct rdmw_range *range, __u8 access)
{
	struct rdmw_grant *grant = rdmw_grant_of(grants, range->key);

	if (!grant || grant->is_revoked || !(grant->access & access))
		return NULL;
	if (range->addr > grant->len || range->len > grant->len - range->addr)
		return NULL;
	return grant;
}

enum rdmw_violation rdmw_grants_revoke(struct rdmw_grants *grants, __u64 key)
{
	struct rdmw_grant *grant = rdmw_grant_of(grants, key);

	if (!grant)
		return RDMW_BAD_GRANT;
	grant->is_revoked = 1;
	return RDMW_OK;
}

_Bool rdmw_grants_drop(struct rdmw_grants *grants, __u64 key)
{
	struct rdmw_grant *grant = rdmw_grant_of(grants, key);

	if (grant && grant->users)
		return 0;
	if (grant)
		grant->access = 0;
	return 1;
}
