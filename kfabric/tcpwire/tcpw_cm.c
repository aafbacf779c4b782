// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Writing and receiving connection messages.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "tcpw_cm.h"

#define VERSION	    3
#define AT_TYPE	    1
#define AT_LENGTH   2
#define AT_RESERVED 4
#define AT_PROBE    24

int tcpw_cm_encode(enum tcpw_cm_type type, enum tcpw_order order,
		   const void *data, __u32 data_bytes, __u8 *out)
{
	if (data_bytes > TCPW_CM_DATA_MAX)
		return -EMSGSIZE;
	memset(out, 0, TCPW_CM_HEADER_BYTES);
	out[0] = VERSION;
	out[AT_TYPE] = (__u8)type;
	tcpw_put(out + AT_LENGTH, 2, TCPW_BIG, data_bytes);
	if (type != TCPW_CM_REJECT)
		tcpw_put(out + AT_PROBE, 8, order, 1);
	if (data_bytes)
		memcpy(out + TCPW_CM_HEADER_BYTES, data, data_bytes);
	return (int)(TCPW_CM_HEADER_BYTES + data_bytes);
}

void tcpw_cm_rx_init(struct tcpw_cm_rx *rx, _Bool active)
{
	memset(rx, 0, sizeof(*rx));
	rx->need = TCPW_CM_HEADER_BYTES;
	rx->active = active;
}

__u32 tcpw_cm_rx_want(struct tcpw_cm_rx *rx, __u8 **to)
{
	*to = rx->bytes + rx->have;
	return (__u32)(rx->need - rx->have);
}

static enum tcpw_violation tcpw_cm_check_header(const struct tcpw_cm_rx *rx)
{
	const __u8 *b = rx->bytes;
	_Bool one, zero, is_due;
	unsigned int i;

	if (b[0] != VERSION)
		return TCPW_CM_VERSION;
	/* A request goes to the passive side, an answer to the active one. */
	is_due = rx->active ? b[AT_TYPE] == TCPW_CM_ACCEPT ||
				      b[AT_TYPE] == TCPW_CM_REJECT
			    : b[AT_TYPE] == TCPW_CM_REQUEST;
	if (!is_due)
		return TCPW_CM_TYPE;
	if (tcpw_get(b + AT_LENGTH, 2, TCPW_BIG) > TCPW_CM_DATA_MAX)
		return TCPW_CM_DATA;
	for (i = AT_RESERVED; i < AT_PROBE; i++)
		if (b[i])
			return TCPW_CM_RESERVED;
	one = tcpw_get(b + AT_PROBE, 8, TCPW_LITTLE) == 1 ||
	      tcpw_get(b + AT_PROBE, 8, TCPW_BIG) == 1;
	zero = !tcpw_get(b + AT_PROBE, 8, TCPW_BIG);
	if (!one && !(zero && b[AT_TYPE] == TCPW_CM_REJECT))
		return TCPW_CM_ORDER;
	return TCPW_OK;
}

enum tcpw_violation tcpw_cm_rx_fed(struct tcpw_cm_rx *rx, __u32 n)
{
	rx->have = (__u16)(rx->have + n);
	if (rx->have < rx->need || rx->need > TCPW_CM_HEADER_BYTES)
		return rx->violation;
	rx->violation = tcpw_cm_check_header(rx);
	if (!rx->violation)
		rx->need = (__u16)(rx->need + tcpw_get(rx->bytes + AT_LENGTH, 2,
						       TCPW_BIG));
	return rx->violation;
}

enum tcpw_cm_type tcpw_cm_rx_type(const struct tcpw_cm_rx *rx)
{
	return (enum tcpw_cm_type)rx->bytes[AT_TYPE];
}

enum tcpw_order tcpw_cm_rx_order(const struct tcpw_cm_rx *rx)
{
	return rx->bytes[AT_PROBE] ? TCPW_LITTLE : TCPW_BIG;
}

const __u8 *tcpw_cm_rx_data(const struct tcpw_cm_rx *rx, __u32 *data_bytes)
{
	*data_bytes = (__u32)(rx->need - TCPW_CM_HEADER_BYTES);
	return rx->bytes + TCPW_CM_HEADER_BYTES;
}
