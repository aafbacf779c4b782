/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control protocol's single source: message layouts, constants and the
 * checks of their sizes.
 *
 * Everything is little endian and naturally aligned within its message; a
 * 64-bit value that travels in connection private data is two __le32, because
 * private data starts at an odd address. Reserved fields are sent as zero and
 * refused otherwise. Nothing but the kfb_codec files reads these structs from
 * raw bytes; docs/protocol.md has the same tables in prose.
 */
#ifndef KFB_WIRE_H
#define KFB_WIRE_H

#include <linux/types.h>

/*
 * 2: a brick proves a join, and AUTH names the session it takes the place of.
 * Neither side speaks 1: a client that did would take anybody's word for it.
 */
#define KFB_VERSION 2

#define KFB_PORT_DEFAULT 20149

/* 2 MiB: the only unit of allocation. */
#define KFB_BLOCK_SHIFT 21
#define KFB_BLOCK_BYTES (1ULL << KFB_BLOCK_SHIFT)
/* Blocks in the whole 64-bit address space. */
#define KFB_BLOCKS_MAX (1ULL << (64 - KFB_BLOCK_SHIFT))

#define KFB_REQ_MAX_BYTES   512
#define KFB_REPLY_MAX_BYTES 4096

#define KFB_UUID_BYTES	16
#define KFB_NONCE_BYTES 16
#define KFB_KEY_BYTES	32
#define KFB_MAC_BYTES	32
/* What of a MAC fits into a HELLO or an ACCEPT. */
#define KFB_JOIN_PROOF_BYTES 16
/* "client NAME" must stay below libinih's 49 characters for a section. */
#define KFB_NAME_MAX 40

/* Credits: requests a client may have outstanding on a queue. */
#define KFB_CREDITS_MIN 4
#define KFB_CREDITS_MAX 64
/* The last two are for PING and UNMAP only. */
#define KFB_CREDITS_RESERVED   2
#define KFB_EVENTS_UNACKED_MAX 4

/* Registered bytes one handle may cover. */
#define KFB_MAP_EXTENT_MAX_BYTES      (1ULL << 30)
#define KFB_MAP_EXTENT_THIN_MAX_BYTES (64ULL << 20)

/* RDMA CM carries 56 bytes, of which libfabric takes one for the length. */
#define KFB_PRIVATE_DATA_MAX_BYTES 55

#define KFB_MAGIC_HELLO	 0x4862666bU /* "kfbH" */
#define KFB_MAGIC_ACCEPT 0x4162666bU /* "kfbA" */
#define KFB_MAGIC_REJECT 0x5262666bU /* "kfbR" */

/* HELLO and ACCEPT feature bits. Unknown ones are ignored, never granted. */
#define KFB_FEATURE_THIN    (1U << 0) /* handles of at most 64 MiB */
#define KFB_FEATURE_EVENT   (1U << 1) /* the client understands EVENT */
#define KFB_FEATURE_RESUME  (1U << 2) /* the client resumes its session */
#define KFB_FEATURE_QUOTA   (1U << 3) /* the client understands KFB_INFO_QUOTA */
#define KFB_FEATURE_EVICTED (1U << 4) /* ... and KFB_EVENT_EVICTED */
#define KFB_FEATURE_RATE    (1U << 5) /* ... and keeps to KFB_INFO_RATE */
#define KFB_FEATURES_V1                                              \
	(KFB_FEATURE_THIN | KFB_FEATURE_EVENT | KFB_FEATURE_RESUME | \
	 KFB_FEATURE_QUOTA | KFB_FEATURE_EVICTED | KFB_FEATURE_RATE)

struct kfb_wire_hello {
	__le32 magic;
	__u8 version_min;
	__u8 version_max;
	__le16 queue; /* 0: the session's first */
	__le32 features;
	__le32 session_lo; /* 0: a new session; else the one to join */
	__le32 session_hi;
	__le32 join_counter;
	__le16 credits;
	__le16 reserved;
	__u8 proof[KFB_JOIN_PROOF_BYTES]; /* new session: the client's nonce */
};

struct kfb_wire_accept {
	__le32 magic;
	__u8 version;
	__u8 reserved0;
	__le16 credits;
	__le32 features;
	__le16 req_max_bytes;
	__le16 reply_max_bytes;
	__le32 session_lo;
	__le32 session_hi;
	__le32 instance_lo;
	__le32 instance_hi;
	__u8 proof[KFB_JOIN_PROOF_BYTES]; /* new session: the brick's nonce */
};

struct kfb_wire_reject {
	__le32 magic;
	__le16 status;
	__u8 version_min;
	__u8 version_max;
	__le32 retry_after_ms;
};

/* Operations. A reply carries the request's number with KFB_OP_REPLY set. */
#define KFB_OP_AUTH	   1
#define KFB_OP_INFO	   2
#define KFB_OP_ALLOC	   3
#define KFB_OP_FREE	   4
#define KFB_OP_MAP	   5
#define KFB_OP_UNMAP	   6
#define KFB_OP_LIST	   7
#define KFB_OP_FLUSH	   8
#define KFB_OP_PING	   9
#define KFB_OP_EVENT	   10 /* brick to client; PING or UNMAP acknowledges it */
#define KFB_OP_FENCE	   11 /* of who has the role fencer */
#define KFB_OP_CLIENT	   12 /* of who has the role fencer */
#define KFB_OP_RESERVE	   13 /* changes keys and reservation of a range */
#define KFB_OP_RESERVATION 14 /* asks for keys and reservation of a range */
#define KFB_OP_LAST	   14
#define KFB_OP_REPLY	   0x8000

struct kfb_wire_header {
	__le16 op;
	__le16 status; /* of a reply; zero in a request */
	__le32 length_bytes; /* of the whole message, this header included */
	/* cookie */
	__le16 slot;
	__le16 reserved0;
	__le32 seq;
	__le16 credits; /* returned to the receiver of this message */
	__le16 reserved1;
	__le32 reserved2[3];
};

struct kfb_wire_auth {
	__u8 name_len;
	__u8 reserved[7];
	__u8 name[KFB_NAME_MAX]; /* zero padded */
	__u8 brick_uuid[KFB_UUID_BYTES]; /* expected, or zero */
	__le64 last_instance_id; /* what the client last saw, or zero */
	__le64 last_power_epoch;
	__le64 former_session_id; /* of this client, ended first; or zero */
	__u8 proof[KFB_MAC_BYTES];
};

struct kfb_wire_auth_reply {
	__u8 proof[KFB_MAC_BYTES];
	__u8 brick_uuid[KFB_UUID_BYTES];
	__le64 power_epoch;
	__le32 n_grants;
	__le32 reserved;
	/* followed by n_grants of kfb_wire_grant */
};

#define KFB_GRANT_RO 1
#define KFB_GRANT_RW 2

struct kfb_wire_grant {
	__le64 va;
	__le64 n_blocks;
	__le32 access; /* KFB_GRANT_* */
	__le32 reserved;
};

#define KFB_GRANTS_MAX \
	((KFB_REPLY_MAX_BYTES - 32 - 64) / 24) /* of one client */

/* What the medium is; INFO's medium. */
#define KFB_MEDIUM_VOLATILE 1 /* memory, tmpfs */
#define KFB_MEDIUM_FILE	    2
#define KFB_MEDIUM_FSDAX    3
#define KFB_MEDIUM_DEVDAX   4
#define KFB_MEDIUM_BATTERY  5 /* memory that a battery keeps, as declared */
#define KFB_MEDIUM_CXL	    6 /* persistent memory behind CXL */
#define KFB_MEDIUM_LAST	    6

/* Flush modes, as bits in flush_modes and one of them in flush_mode. */
#define KFB_FLUSH_NONE	   (1U << 0) /* volatile: nothing makes it durable */
#define KFB_FLUSH_MESSAGE  (1U << 1)
#define KFB_FLUSH_READBACK (1U << 2)
#define KFB_FLUSH_COMMIT   (1U << 3)
#define KFB_FLUSH_NATIVE   (1U << 4)
#define KFB_FLUSH_MODES	   0x1fU

/* Why flush_mode was chosen. */
#define KFB_WHY_VOLATILE   1 /* the medium keeps nothing */
#define KFB_WHY_FILE	   2 /* page cache: fdatasync is needed */
#define KFB_WHY_ADR_DDIO   3 /* inbound DMA may stop in the CPU cache */
#define KFB_WHY_EADR	   4 /* CPU caches are in the persistence domain */
#define KFB_WHY_ADR_NODDIO 5 /* the administrator declared ddio = off */
#define KFB_WHY_ASSUMED	   6 /* assume-readback: unsafe */
#define KFB_WHY_CPU_PLACED 7 /* the fabric places by CPU stores */
#define KFB_WHY_UNPROVEN   8 /* the platform does not say what survives */
#define KFB_WHY_LAST	   8

#define KFB_INFO_ACK_IS_PLACED (1U << 0)
#define KFB_INFO_UNSAFE	       (1U << 1) /* an unsafe setting is on */
#define KFB_INFO_READ_ONLY     (1U << 2)
#define KFB_INFO_QUOTA	       (1U << 3) /* with KFB_FEATURE_QUOTA only */
#define KFB_INFO_RATE	       (1U << 4) /* with KFB_FEATURE_RATE only */
#define KFB_INFO_FLAGS	       0x1fU

/* What the 32 bits of a quota can say; also the largest one there is. */
#define KFB_QUOTA_MAX 4294967295U

/* What a rate may be, where there is one. */
#define KFB_RATE_BYTES_MIN 1048576U
#define KFB_RATE_BYTES_MAX 1099511627776ULL
#define KFB_RATE_OPS_MIN   10U

struct kfb_wire_info_reply {
	__u8 brick_uuid[KFB_UUID_BYTES];
	__le64 instance_id;
	__le64 power_epoch;
	__le32 block_shift;
	__le32 flags; /* KFB_INFO_* */
	__le32 flush_modes;
	__le32 flush_mode;
	__le32 flush_why; /* KFB_WHY_* */
	__le32 medium; /* KFB_MEDIUM_* */
	__le64 slots_total;
	__le64 slots_free; /* clean and dirty */
	__le64 slots_clean;
	__le64 slots_bad;
	__le64 slow_total;
	__le64 slow_free;
	__le32 lease_ms;
	__le32 mappings_max; /* of one session */
	__le64 map_extent_max_bytes;
	__le64 alloc_max_blocks; /* of one ALLOC or FREE */
	/* This client's, with KFB_INFO_QUOTA; else zero. */
	__le32 quota_blocks; /* that it may have */
	__le32 owned_blocks; /* that it has; KFB_QUOTA_MAX: or more */
};

/* Behind it with KFB_INFO_RATE, once; 0: of these any number. */
struct kfb_wire_rate {
	__le64 bytes_per_s;
	__le32 ops_per_s;
	__le32 reserved;
};

/* ALLOC and FREE */
struct kfb_wire_range {
	__le64 va;
	__le64 n_blocks;
};

#define KFB_MAP_RO	  (1U << 0)
#define KFB_MAP_RW	  (1U << 1)
#define KFB_MAP_SHARED	  (1U << 2)
#define KFB_MAP_EXCLUSIVE (1U << 3)
#define KFB_MAP_NOWAIT	  (1U << 4)
#define KFB_MAP_FLAGS	  0x1fU

struct kfb_wire_map {
	__le64 va;
	__le64 n_blocks;
	__le64 mapping_id; /* 0: a new mapping; else continue listing it */
	__le64 cursor; /* from the reply that was not complete */
	__le32 flags; /* KFB_MAP_* */
	__le32 reserved;
};

struct kfb_wire_map_reply {
	__le64 mapping_id;
	__le64 cursor; /* 0: complete */
	__le32 n_handles;
	__le32 reserved;
	/* followed by n_handles of kfb_wire_handle */
};

struct kfb_wire_handle {
	__le64 va;
	__le64 n_blocks;
	__le64 key;
	__le64 raddr;
	__le32 birth;
	__le32 reserved;
};

#define KFB_HANDLES_MAX ((KFB_REPLY_MAX_BYTES - 32 - 24) / 40) /* per reply */

struct kfb_wire_unmap {
	__le64 mapping_id;
	__le64 va; /* whole handles; va 0, n 0: the whole mapping */
	__le64 n_blocks;
	__le32 event_seq; /* the EVENT this answers, or 0 */
	__le32 reserved;
};

#define KFB_LIST_ALLOCATED 1 /* cursor: an address */
#define KFB_LIST_MAPPED	   2 /* cursor: an address */
#define KFB_LIST_MINE	   3 /* cursor: a mapping id */

struct kfb_wire_list {
	__le32 what; /* KFB_LIST_* */
	__le32 max_extents; /* 0: as many as fit */
	__le64 cursor; /* 0: from the start */
};

struct kfb_wire_list_reply {
	__le64 cursor; /* 0: the end */
	__le64 change_counter;
	__le32 n_extents;
	__le32 reserved;
	/* followed by n_extents of kfb_wire_extent */
};

#define KFB_EXTENT_RW	     (1U << 0) /* mapped for writing */
#define KFB_EXTENT_MAPPED    (1U << 1)
#define KFB_EXTENT_EXCLUSIVE (1U << 2)
#define KFB_EXTENT_SLOW	     (1U << 3) /* at rest in the slow tier */
#define KFB_EXTENT_BAD	     (1U << 4) /* the medium lost it */
#define KFB_EXTENT_FLAGS     0x1fU

struct kfb_wire_extent {
	__le64 va;
	__le64 n_blocks;
	__le64 mapping_id; /* KFB_LIST_MINE only, else 0 */
	__le32 flags; /* KFB_EXTENT_* */
	__le32 reserved;
};

#define KFB_LIST_EXTENTS_MAX ((KFB_REPLY_MAX_BYTES - 32 - 24) / 32)

#define KFB_FLUSH_ALL (1U << 0) /* everything; then no ranges */

struct kfb_wire_flush {
	__le32 flags; /* KFB_FLUSH_ALL or 0 */
	__le32 n_ranges;
	/* followed by n_ranges of kfb_wire_flush_range */
};

struct kfb_wire_flush_range {
	__le64 va; /* any byte address */
	__le64 len; /* bytes */
};

#define KFB_FLUSH_RANGES_MAX ((KFB_REQ_MAX_BYTES - 32 - 8) / 16)

#define KFB_PING_END   (1U << 0) /* disconnect: the session is over */
#define KFB_PING_FLAGS 0x1U

struct kfb_wire_ping {
	__le32 event_seq; /* the newest EVENT seen, or 0 */
	__le32 flags; /* KFB_PING_* */
};

/* What becomes of the client that FENCE names. */
#define KFB_FENCE_EVICT 1 /* its sessions end, and it is kept out */
#define KFB_FENCE_ADMIT 2 /* it may come back */

struct kfb_wire_fence {
	__u8 name_len; /* not 0 */
	__u8 what; /* KFB_FENCE_* */
	__u8 reserved[6];
	__u8 name[KFB_NAME_MAX]; /* zero padded */
};

/* Which client CLIENT asks for. */
#define KFB_CLIENT_NAMED 1 /* the one of that name */
#define KFB_CLIENT_AFTER 2 /* the first one whose name is greater */

struct kfb_wire_client {
	__u8 name_len;
	__u8 which; /* KFB_CLIENT_* */
	__u8 reserved[6];
	__u8 name[KFB_NAME_MAX]; /* zero padded */
};

#define KFB_CLIENT_FENCED (1U << 0) /* it is kept out */
#define KFB_CLIENT_FENCER (1U << 1) /* it may send FENCE and CLIENT */
#define KFB_CLIENT_FLAGS  0x3U

struct kfb_wire_client_reply {
	__u8 name_len; /* not 0 */
	__u8 reserved[7];
	__u8 name[KFB_NAME_MAX]; /* zero padded */
	__le32 flags; /* KFB_CLIENT_* */
	__le32 n_sessions; /* also those that are ending */
};

/* What RESERVE does: the service actions of SPC-4. */
#define KFB_RESERVE_REGISTER	  1 /* the client's key becomes new_key; 0: none */
#define KFB_RESERVE_RESERVE	  2
#define KFB_RESERVE_RELEASE	  3
#define KFB_RESERVE_PREEMPT	  4 /* whoever has new_key loses it */
#define KFB_RESERVE_PREEMPT_ABORT 5 /* ... and all that it has mapped there */
#define KFB_RESERVE_CLEAR	  6

/* A flag of REGISTER: whatever key the client has. */
#define KFB_RESERVE_IGNORE_KEY (1U << 0)

/* The types of a reservation, numbered as in Linux' linux/pr.h. */
#define KFB_RESERVED_NONE		       0
#define KFB_RESERVED_WRITE_EXCLUSIVE	       1
#define KFB_RESERVED_EXCLUSIVE_ACCESS	       2
#define KFB_RESERVED_WRITE_EXCLUSIVE_REG_ONLY  3
#define KFB_RESERVED_EXCLUSIVE_ACCESS_REG_ONLY 4
#define KFB_RESERVED_WRITE_EXCLUSIVE_ALL_REGS  5
#define KFB_RESERVED_EXCLUSIVE_ACCESS_ALL_REGS 6
#define KFB_RESERVED_LAST		       6

struct kfb_wire_reserve {
	__le64 va;
	__le64 n_blocks;
	__le64 key; /* the client's; 0 when it has none, or IGNORE_KEY */
	__le64 new_key; /* of REGISTER and PREEMPT; else 0 */
	__u8 action; /* KFB_RESERVE_* */
	__u8 type; /* KFB_RESERVED_*; NONE of REGISTER and CLEAR */
	__u8 flags; /* KFB_RESERVE_IGNORE_KEY */
	__u8 reserved[5];
};

#define KFB_REGISTRANTS_MAX 64

struct kfb_wire_reservation {
	__le32 generation; /* changes with the keys */
	__u8 type; /* KFB_RESERVED_* */
	__u8 reserved0[3];
	__le32 n_registrants;
	__le32 reserved1;
	__le64 n_blocks; /* that it covers; 0 without registrants */
};

#define KFB_REGISTRANT_HOLDER (1U << 0) /* it holds the reservation */
#define KFB_REGISTRANT_FLAGS  0x1U

struct kfb_wire_registrant {
	__le64 key; /* not 0 */
	__u8 flags; /* KFB_REGISTRANT_* */
	__u8 name_len; /* not 0 */
	__u8 reserved[6];
	__u8 name[KFB_NAME_MAX]; /* zero padded */
};

#define KFB_EVENT_LEASE	      1 /* the lease is about to end */
#define KFB_EVENT_RECALL      2 /* unmap this mapping, if possible */
#define KFB_EVENT_SHUTDOWN    3
#define KFB_EVENT_MEDIA_ERROR 4 /* the block at va is lost, or cannot be had */
#define KFB_EVENT_EVICTED     5 /* with KFB_FEATURE_EVICTED only */
#define KFB_EVENT_RATE	      6 /* with KFB_FEATURE_RATE only */
#define KFB_EVENT_LAST	      6

/* Why a session is evicted; clients take unknown ones, too. */
#define KFB_EVICTED_ORDER    1 /* an administrator has said so: uid */
#define KFB_EVICTED_CLIENT   2 /* the brick knows its client no more */
#define KFB_EVICTED_KEY	     3 /* ... or the key that it used */
#define KFB_EVICTED_GRANT    4 /* a grant that it uses was taken */
#define KFB_EVICTED_FENCED   5 /* a fencer keeps its client out */
#define KFB_EVICTED_RESERVED 6 /* what it has mapped is reserved for others */
#define KFB_EVICTED_LAST     6

struct kfb_wire_event {
	__le32 kind; /* KFB_EVENT_* */
	__le32 event_seq; /* rises, never 0 */
	__le64 va; /* of RATE: bytes in a second */
	__le64 n_blocks; /* of RATE: operations in a second */
	__le64 mapping_id; /* of EVICTED: the administrator's uid */
	__le32 deadline_ms; /* from now */
	__le32 cause; /* KFB_EVICTED_*; else reserved */
};

/* clang-format off */
#define KFB_WIRE_SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), #type " changed size")
/* clang-format on */

KFB_WIRE_SIZE(kfb_wire_hello, 44);
KFB_WIRE_SIZE(kfb_wire_accept, 48);
KFB_WIRE_SIZE(kfb_wire_reject, 12);
KFB_WIRE_SIZE(kfb_wire_header, 32);
KFB_WIRE_SIZE(kfb_wire_auth, 120);
KFB_WIRE_SIZE(kfb_wire_auth_reply, 64);
KFB_WIRE_SIZE(kfb_wire_grant, 24);
KFB_WIRE_SIZE(kfb_wire_info_reply, 136);
KFB_WIRE_SIZE(kfb_wire_rate, 16);
KFB_WIRE_SIZE(kfb_wire_range, 16);
KFB_WIRE_SIZE(kfb_wire_map, 40);
KFB_WIRE_SIZE(kfb_wire_map_reply, 24);
KFB_WIRE_SIZE(kfb_wire_handle, 40);
KFB_WIRE_SIZE(kfb_wire_unmap, 32);
KFB_WIRE_SIZE(kfb_wire_list, 16);
KFB_WIRE_SIZE(kfb_wire_list_reply, 24);
KFB_WIRE_SIZE(kfb_wire_extent, 32);
KFB_WIRE_SIZE(kfb_wire_flush, 8);
KFB_WIRE_SIZE(kfb_wire_flush_range, 16);
KFB_WIRE_SIZE(kfb_wire_ping, 8);
KFB_WIRE_SIZE(kfb_wire_fence, 48);
KFB_WIRE_SIZE(kfb_wire_client, 48);
KFB_WIRE_SIZE(kfb_wire_client_reply, 56);
KFB_WIRE_SIZE(kfb_wire_reserve, 40);
KFB_WIRE_SIZE(kfb_wire_reservation, 24);
KFB_WIRE_SIZE(kfb_wire_registrant, 56);
KFB_WIRE_SIZE(kfb_wire_event, 40);

_Static_assert(sizeof(struct kfb_wire_header) +
			       sizeof(struct kfb_wire_reservation) +
			       KFB_REGISTRANTS_MAX *
				       sizeof(struct kfb_wire_registrant) <=
		       KFB_REPLY_MAX_BYTES,
	       "registrants over budget");

/* What of the private data belongs to the message and to the transcripts. */
#define KFB_HELLO_BYTES	 44
#define KFB_ACCEPT_BYTES 48
#define KFB_REJECT_BYTES 12

_Static_assert(sizeof(struct kfb_wire_hello) == KFB_HELLO_BYTES, "HELLO size");
_Static_assert(sizeof(struct kfb_wire_accept) == KFB_ACCEPT_BYTES,
	       "ACCEPT size");
_Static_assert(sizeof(struct kfb_wire_reject) == KFB_REJECT_BYTES,
	       "REJECT size");
_Static_assert(sizeof(struct kfb_wire_hello) <= 52, "HELLO over budget");
_Static_assert(sizeof(struct kfb_wire_accept) <= 48, "ACCEPT over budget");
_Static_assert(52 <= KFB_PRIVATE_DATA_MAX_BYTES, "private data over budget");

#endif
