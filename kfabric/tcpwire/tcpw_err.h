/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a peer can do against the OFI tcp wire. Each way has a name of its own:
 * a violation ends the connection, and the name is what its owner reports.
 *
 * Context: any.
 */
#ifndef TCPW_ERR_H
#define TCPW_ERR_H

/**
 * enum tcpw_violation - why a connection must end
 * @TCPW_OK: it need not
 * @TCPW_CM_VERSION: a connection message of an unknown version
 * @TCPW_CM_TYPE: neither request, accept nor reject, or not the one due
 * @TCPW_CM_DATA: more private data than a connection message may have
 * @TCPW_CM_RESERVED: bytes of a connection message that must be zero are not
 * @TCPW_CM_ORDER: the probe for the byte order is 1 in neither order
 * @TCPW_HDR_VERSION: a header of an unknown version
 * @TCPW_HDR_OP: an operation that does not exist or is not spoken here
 * @TCPW_HDR_FLAGS: flags that do not exist or not for this operation
 * @TCPW_HDR_OP_DATA: neither plain nor an acknowledgement
 * @TCPW_HDR_SEGMENTS: a number of segments that does not go with the operation
 * @TCPW_HDR_BYTES: a header size that its own fields contradict
 * @TCPW_HDR_TOTAL: a total size that the header contradicts
 * @TCPW_HDR_SUM: segments that overflow together or differ from the payload
 * @TCPW_HDR_WRAP: a segment that leaves the address space
 * @TCPW_UNASKED_ACK: an acknowledgement that nothing waits for
 * @TCPW_UNASKED_RESPONSE: a read response that nothing waits for
 * @TCPW_RESPONSE_BYTES: a read response that is not as long as the read
 * @TCPW_BAD_KEY: no such key
 * @TCPW_BAD_RANGE: a segment that leaves its registration
 * @TCPW_BAD_ACCESS: a registration that does not allow this
 * @TCPW_TOO_LONG: a message that the posted receive has no room for
 * @TCPW_NO_COMMIT: persistence asked for where there is none to give
 * @TCPW_NO_CQ_DATA: data for a completion queue that takes none
 * @TCPW_NO_MEMORY: no fault of the peer: there was no memory for an answer
 * @TCPW_LATE: the peer did not do in time what it had to
 * @TCPW_EARLY_ANSWER: an answer to what has not arrived
 * @TCPW_VIOLATIONS: how many there are
 *
 * From TCPW_BAD_KEY on it is the owner of the connection who finds them.
 */
enum tcpw_violation {
	TCPW_OK,
	TCPW_CM_VERSION,
	TCPW_CM_TYPE,
	TCPW_CM_DATA,
	TCPW_CM_RESERVED,
	TCPW_CM_ORDER,
	TCPW_HDR_VERSION,
	TCPW_HDR_OP,
	TCPW_HDR_FLAGS,
	TCPW_HDR_OP_DATA,
	TCPW_HDR_SEGMENTS,
	TCPW_HDR_BYTES,
	TCPW_HDR_TOTAL,
	TCPW_HDR_SUM,
	TCPW_HDR_WRAP,
	TCPW_UNASKED_ACK,
	TCPW_UNASKED_RESPONSE,
	TCPW_RESPONSE_BYTES,
	TCPW_BAD_KEY,
	TCPW_BAD_RANGE,
	TCPW_BAD_ACCESS,
	TCPW_TOO_LONG,
	TCPW_NO_COMMIT,
	TCPW_NO_CQ_DATA,
	TCPW_NO_MEMORY,
	TCPW_LATE,
	TCPW_EARLY_ANSWER,
	TCPW_VIOLATIONS
};

/**
 * tcpw_violation_text - one clause for people
 * @violation: any value
 *
 * Context: any.
 * Return: a constant string without a full stop.
 */
const char *tcpw_violation_text(enum tcpw_violation violation);

#endif
