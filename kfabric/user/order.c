// SPDX-License-Identifier: BSD-2-Clause
/* The byte order of this host; a test that plays another host has its own. */
#include "impl.h"

enum tcpw_order stcp_our_order(void)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return TCPW_BIG;
#else
	return TCPW_LITTLE;
#endif
}
