// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of violations.
 *
 * Context: any.
 */
#include "tcpw_err.h"

static const char *const tcpw_violation_texts[TCPW_VIOLATIONS] = {
	[TCPW_OK] = "no violation",
	[TCPW_CM_VERSION] = "a connection message of an unknown version",
	[TCPW_CM_TYPE] = "not the connection message that was due",
	[TCPW_CM_DATA] = "a connection message with too much private data",
	[TCPW_CM_RESERVED] = "a connection message with reserved bytes set",
	[TCPW_CM_ORDER] = "a connection message of no byte order",
	[TCPW_HDR_VERSION] = "a header of an unknown version",
	[TCPW_HDR_OP] = "an operation that is not spoken here",
	[TCPW_HDR_FLAGS] = "flags that do not go with the operation",
	[TCPW_HDR_OP_DATA] = "operation data that do not exist",
	[TCPW_HDR_SEGMENTS] = "segments that do not go with the operation",
	[TCPW_HDR_BYTES] = "a header size that its fields contradict",
	[TCPW_HDR_TOTAL] = "a total size that the header contradicts",
	[TCPW_HDR_SUM] = "segments that differ from the payload",
	[TCPW_HDR_WRAP] = "a segment that leaves the address space",
	[TCPW_UNASKED_ACK] = "an acknowledgement that nothing waits for",
	[TCPW_UNASKED_RESPONSE] = "a read response that nothing waits for",
	[TCPW_RESPONSE_BYTES] = "a read response of another length",
	[TCPW_BAD_KEY] = "a key that does not exist",
	[TCPW_BAD_RANGE] = "a range outside the registration",
	[TCPW_BAD_ACCESS] = "an access that the registration does not allow",
	[TCPW_TOO_LONG] = "a message too long for the posted receive",
	[TCPW_NO_COMMIT] = "persistence asked for where there is none",
	[TCPW_NO_CQ_DATA] = "data for a completion queue that takes none",
	[TCPW_NO_MEMORY] = "no memory for an answer",
	[TCPW_LATE] = "not done in time",
	[TCPW_EARLY_ANSWER] = "an answer to what has not arrived",
};

const char *tcpw_violation_text(enum tcpw_violation violation)
{
	if ((unsigned int)violation >= TCPW_VIOLATIONS)
		return "an unknown violation";
	return tcpw_violation_texts[violation];
}
