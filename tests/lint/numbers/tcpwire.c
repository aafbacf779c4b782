// SPDX-License-Identifier: BSD-2-Clause
/*
 * Numbers of tcpwire as a compiler computes them for a machine of either byte
 * order: where all are right, nothing of wrong() is left; see tests/lint/portable.
 */
#include "../../../kfabric/tcpwire/tcpw_bytes.h"

void wrong(void);
void look(void);

void look(void)
{
	const __u8 b[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	__u8 out[8] = { 0 };

	if (tcpw_get(b, 2, TCPW_LITTLE) != 0x0201)
		wrong();
	if (tcpw_get(b, 4, TCPW_LITTLE) != 0x04030201)
		wrong();
	if (tcpw_get(b, 8, TCPW_LITTLE) != 0x0807060504030201)
		wrong();
	tcpw_put(out, 3, TCPW_LITTLE, 0x030201);
	if (out[0] != 1 || out[1] != 2 || out[2] != 3 || out[3])
		wrong();
	tcpw_put(out, 8, TCPW_LITTLE, 0x0807060504030201);
	if (out[0] != 1 || out[3] != 4 || out[4] != 5 || out[7] != 8)
		wrong();
	if (tcpw_get(b, 2, TCPW_BIG) != 0x0102)
		wrong();
	if (tcpw_get(b, 4, TCPW_BIG) != 0x01020304)
		wrong();
	if (tcpw_get(b, 8, TCPW_BIG) != 0x0102030405060708)
		wrong();
	tcpw_put(out, 3, TCPW_BIG, 0x010203);
	if (out[0] != 1 || out[1] != 2 || out[2] != 3 || out[3] != 4)
		wrong();
	tcpw_put(out, 8, TCPW_BIG, 0x0102030405060708);
	if (out[0] != 1 || out[3] != 4 || out[4] != 5 || out[7] != 8)
		wrong();
}
