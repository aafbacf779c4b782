/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reliable datagrams' wire: what is said while a connection is made, and
 * who wins when two endpoints connect to each other at one time. The format is in
 * docs/kfabric-rdm.md.
 *
 * Context: any. No state but the caller's.
 */
#ifndef RDMW_CM_H
#define RDMW_CM_H

#include <linux/types.h>

#define RDMW_VERSION 1

/* They fit into the private data of all providers: verbs has 55 bytes. */
#define RDMW_HELLO_BYTES   52
#define RDMW_WELCOME_BYTES 32
#define RDMW_REFUSE_BYTES  8
#define RDMW_ADDR_BYTES	   16

/* What is newer than the version: works when both ends have it. */
#define RDMW_FEATURE_TAGS   1 /* messages with a tag */
#define RDMW_FEATURE_RMA    2 /* remote memory */
#define RDMW_FEATURE_CTX    4 /* messages for one of several receive contexts */
#define RDMW_FEATURE_BARE   8 /* pieces without header, with completion data */
#define RDMW_FEATURE_JOINT  16 /* one answer to several writes */
#define RDMW_FEATURE_GRANT  32 /* remote memory by the device below */
#define RDMW_FEATURE_ATOMIC 64 /* atomic operations on remote memory */
#define RDMW_FEATURE_GROW   128 /* windows that grow */
#define RDMW_FEATURES                                                  \
	(RDMW_FEATURE_TAGS | RDMW_FEATURE_RMA | RDMW_FEATURE_CTX |     \
	 RDMW_FEATURE_BARE | RDMW_FEATURE_JOINT | RDMW_FEATURE_GRANT | \
	 RDMW_FEATURE_ATOMIC | RDMW_FEATURE_GROW)
/* So many bits there can be of them in all. */
#define RDMW_FEATURE_BITS 24

/* Bounds of what a peer may offer. */
#define RDMW_PIECE_MIN	256
#define RDMW_WINDOW_MAX 1024
/* And of what a window may grow to. */
#define RDMW_WINDOW_GROWN 64

/**
 * enum rdmw_kind - kinds of messages; unknown ones end the connection
 * @RDMW_HELLO: asks for a connection
 * @RDMW_WELCOME: accepts it
 * @RDMW_REFUSE: does not
 * @RDMW_DATA: a piece of a message
 * @RDMW_CREDIT: receive buffers are free again
 * @RDMW_BYE: the sender begins nothing more on this connection
 * @RDMW_WRITE: a piece of a request to write; this and the next: RDMW_FEATURE_RMA
 * @RDMW_READ: a request to read
 * @RDMW_ANSWER: a piece of an answer to a request, which come in their order
 * @RDMW_GRANT: a key of the device below for a region; this and the next two:
 *	RDMW_FEATURE_GRANT
 * @RDMW_REVOKE: such a key is to be used no more
 * @RDMW_RETURN: it is not used any more
 * @RDMW_ATOMIC: a request to do an atomic operation; RDMW_FEATURE_ATOMIC
 */
enum rdmw_kind {
	RDMW_HELLO = 1,
	RDMW_WELCOME = 2,
	RDMW_REFUSE = 3,
	RDMW_DATA = 4,
	RDMW_CREDIT = 5,
	RDMW_BYE = 6,
	RDMW_WRITE = 7,
	RDMW_READ = 8,
	RDMW_ANSWER = 9,
	RDMW_GRANT = 10,
	RDMW_REVOKE = 11,
	RDMW_RETURN = 12,
	RDMW_ATOMIC = 13,
};

/**
 * enum rdmw_violation - what is wrong with a message
 * @RDMW_OK: nothing
 * @RDMW_BAD_LENGTH: other than its kind's, or than it says
 * @RDMW_BAD_VERSION: of another version
 * @RDMW_BAD_KIND: unknown, or not due here
 * @RDMW_BAD_RESERVED: something is set that means nothing
 * @RDMW_BAD_FIELD: a number out of its bounds
 * @RDMW_BAD_ORDER: a piece that does not follow the one before
 * @RDMW_BAD_CREDIT: more is given back or sent than there was
 * @RDMW_BAD_ASK: too many requests without answer, or an answer to none
 * @RDMW_BAD_GRANT: a grant too many, or of a key that has one; one is revoked or
 *	returned that must not be
 */
enum rdmw_violation {
	RDMW_OK,
	RDMW_BAD_LENGTH,
	RDMW_BAD_VERSION,
	RDMW_BAD_KIND,
	RDMW_BAD_RESERVED,
	RDMW_BAD_FIELD,
	RDMW_BAD_ORDER,
	RDMW_BAD_CREDIT,
	RDMW_BAD_ASK,
	RDMW_BAD_GRANT,
};

/**
 * enum rdmw_reason - why a connection is refused
 * @RDMW_CROSSED: the other one, of those that crossed, is to live
 * @RDMW_STALE: its sender has given it up
 * @RDMW_MALFORMED: the hello breaks the rules
 * @RDMW_OTHER_VERSION: it is of a version that is not spoken here
 * @RDMW_WRONG_NAME: its sender is not who it says
 * @RDMW_NO_ROOM: there are too many connections
 * @RDMW_REASONS: how many there are
 */
enum rdmw_reason {
	RDMW_CROSSED = 1,
	RDMW_STALE = 2,
	RDMW_MALFORMED = 3,
	RDMW_OTHER_VERSION = 4,
	RDMW_WRONG_NAME = 5,
	RDMW_NO_ROOM = 6,
	RDMW_REASONS,
};

/**
 * struct rdmw_offer - what an endpoint says of its own end of a connection
 * @instance: drawn at random when the endpoint was opened, not 0
 * @serial: hello: number of the attempt, rising; welcome: the next one's, so that
 *	all lower ones are given up
 * @features: hello: that it has, also those that nobody here knows; welcome: those
 *	of the hello's that it has as well
 * @window: pieces that it can take before it must give credits back
 * @piece_bytes: of the buffer of each, header included
 * @last_ctx: number of its last receive context, which are counted from 0; says
 *	nothing without RDMW_FEATURE_CTX
 */
struct rdmw_offer {
	__u64 instance;
	__u64 serial;
	__u32 features;
	__u16 window;
	__u16 piece_bytes;
	__u8 last_ctx;
};

/**
 * struct rdmw_hello - a request
 * @offer: see there
 * @port: where the sender listens
 * @addr: its address, mapped if it is IPv4; all 0: the one the request comes from
 */
struct rdmw_hello {
	struct rdmw_offer offer;
	__u16 port;
	__u8 addr[RDMW_ADDR_BYTES];
};

void rdmw_hello_pack(const struct rdmw_hello *hello, __u8 *out);
enum rdmw_violation rdmw_hello_parse(const __u8 *in, __u32 bytes,
				     struct rdmw_hello *hello);
void rdmw_welcome_pack(const struct rdmw_offer *offer, __u8 *out);
/* What takes up more than @ours offered is none. */
enum rdmw_violation rdmw_welcome_parse(const __u8 *in, __u32 bytes,
				       const struct rdmw_offer *ours,
				       struct rdmw_offer *offer);
void rdmw_refuse_pack(enum rdmw_reason reason, __u8 *out);
enum rdmw_violation rdmw_refuse_parse(const __u8 *in, __u32 bytes,
				      enum rdmw_reason *reason);

/**
 * enum rdmw_link - what there is between us and a peer
 * @RDMW_NONE: nothing, as far as we know
 * @RDMW_DIALING: our request is under way
 * @RDMW_LINKED: a connection, up or accepted
 */
enum rdmw_link {
	RDMW_NONE,
	RDMW_DIALING,
	RDMW_LINKED,
};

/**
 * struct rdmw_peer - what is remembered of a peer
 * @instance: of the peer, when it last spoke; 0: not yet
 * @floor: requests of that instance with a lower serial are given up
 */
struct rdmw_peer {
	__u64 instance;
	__u64 floor;
};

/**
 * enum rdmw_verdict - what to do with a request
 * @RDMW_ACCEPT: there is no other
 * @RDMW_TAKE: accept it, and give our own request up
 * @RDMW_BESIDE: accept it beside what there is, which stays in use
 * @RDMW_REPLACE: accept it; what there is belongs to an instance that is gone
 * @RDMW_REFUSE_CROSSED: ours is to live
 * @RDMW_REFUSE_STALE: its sender has given it up
 */
enum rdmw_verdict {
	RDMW_ACCEPT,
	RDMW_TAKE,
	RDMW_BESIDE,
	RDMW_REPLACE,
	RDMW_REFUSE_CROSSED,
	RDMW_REFUSE_STALE,
};

/**
 * rdmw_decide() - a request has come
 * @peer: of it; changed if it is accepted
 * @own: our instance
 * @link: what there is
 * @offer: of the request
 *
 * Of two requests that cross, the one of the smaller instance lives: both ends
 * know both numbers and come to the same. One's own is accepted beside.
 *
 * Return: what to do.
 */
enum rdmw_verdict rdmw_decide(struct rdmw_peer *peer, __u64 own,
			      enum rdmw_link link,
			      const struct rdmw_offer *offer);

/**
 * rdmw_learn() - a welcome has come
 * @peer: who sent it
 * @offer: of the welcome
 */
void rdmw_learn(struct rdmw_peer *peer, const struct rdmw_offer *offer);

#endif
