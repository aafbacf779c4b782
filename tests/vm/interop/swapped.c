// SPDX-License-Identifier: BSD-2-Clause
/* In the place of kfabric/user/order.c: a host of the other byte order. */
#include "kfabric/user/impl.h"

enum tcpw_order stcp_our_order(void)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return TCPW_LITTLE;
#else
	return TCPW_BIG;
#endif
}
