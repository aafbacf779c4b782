// SPDX-License-Identifier: BSD-2-Clause
/*
 * Numbers of the wires as a compiler computes them for a machine of either byte
 * order: where all are right, nothing of wrong() is left; see tests/lint/portable.
 */
#include "../../../kfabric/wire/wire_bytes.h"

void wrong(void);
void look(void);

void look(void)
{
	const __u8 b[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	__u8 out[8] = { 0 };

	if (wire_get(b, 2) != 0x0201)
		wrong();
	if (wire_get(b, 4) != 0x04030201)
		wrong();
	if (wire_get(b, 8) != 0x0807060504030201)
		wrong();
	wire_put(out, 3, 0x030201);
	if (out[0] != 1 || out[1] != 2 || out[2] != 3 || out[3])
		wrong();
	wire_put(out, 8, 0x0807060504030201);
	if (out[0] != 1 || out[3] != 4 || out[4] != 5 || out[7] != 8)
		wrong();
}
