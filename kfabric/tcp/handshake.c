// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: connection messages, one at a time, before operations
 * begin.
 *
 * Context: process; waits for the peer, up to a deadline for the whole
 *	message.
 */
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/ratelimit.h>

#include "tcp.h"

#ifdef __BIG_ENDIAN
const enum tcpw_order ktcp_our_order = TCPW_BIG;
#else
const enum tcpw_order ktcp_our_order = TCPW_LITTLE;
#endif

/* How long a reject may take: nobody waits for it. */
#define REJECT_TIMEOUT_MS 1000

int ktcp_cm_send(struct socket *sock, enum tcpw_cm_type type, const void *data,
		 size_t len, u32 timeout_ms)
{
	u8 message[TCPW_CM_MAX];
	int bytes = tcpw_cm_encode(type, ktcp_our_order, data, len, message);

	if (bytes < 0)
		return bytes;
	return ktcp_socket_send(sock, message, bytes,
				jiffies + msecs_to_jiffies(timeout_ms));
}

int ktcp_cm_receive(struct socket *sock, struct tcpw_cm_rx *cm, bool active,
		    u32 timeout_ms)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(timeout_ms);
	enum tcpw_violation why;
	u32 want;
	int ret;
	u8 *to;

	tcpw_cm_rx_init(cm, active);
	while ((want = tcpw_cm_rx_want(cm, &to))) {
		ret = ktcp_socket_receive(sock, to, want, deadline);
		if (ret)
			return ret;
		why = tcpw_cm_rx_fed(cm, want);
		if (why) {
			pr_warn_ratelimited(
				"kfabric_tcp: connection refused: %s\n",
				tcpw_violation_text(why));
			return -EPROTO;
		}
	}
	return 0;
}

/* Refuse a connection, and give its socket back. */
void ktcp_cm_reject(struct socket *sock, const void *data, size_t len)
{
	ktcp_cm_send(sock, TCPW_CM_REJECT, data, len, REJECT_TIMEOUT_MS);
	sock_release(sock);
}
