/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two ends of the interoperability test tell each other. Both run on
 * the same machine, so numbers are in its byte order.
 *
 * The kernel's end decides what is done; the peer answers commands. Each
 * connection is one test: the kernel's private data says which.
 */
#ifndef KFI_INTEROP_WIRE_H
#define KFI_INTEROP_WIRE_H

#include <linux/types.h>

#define IOP_ULP_MAGIC  "KFIULP01"
#define IOP_PEER_MAGIC "KFIPEER1"
#define IOP_MAGIC_LEN  8
/* All that the wire can carry. */
#define IOP_DATA_MAX 55
/* ulp_data.mode */
#define IOP_MODE_SERVE	'S'
#define IOP_MODE_REJECT 'J'
#define IOP_SERVER_SAYS "the server does not want to"
#define IOP_KERNEL_SAYS "the kernel has seen enough"

/* Longest message, and the peer's memory: read-write, then read-only. */
#define IOP_MSG_MAX    (8u << 20)
#define IOP_RW_BYTES   (2u << 20)
#define IOP_RO_BYTES   65536u
#define IOP_RO_SEED    77
#define IOP_PEER_RECVS 4

/*
 * Private data of the kernel's end. From connection to connection another part
 * of the pattern is sent, so that all lengths have their turn.
 */
struct iop_ulp_data {
	char magic[IOP_MAGIC_LEN];
	__u8 mode;
	__u8 len; /* bytes sent, this head included */
	__u8 pattern[IOP_DATA_MAX - IOP_MAGIC_LEN - 2];
};

/* Private data of the peer: with padding, which is never the last byte. */
struct iop_peer_data {
	char magic[IOP_MAGIC_LEN];
	__u64 rw_addr;
	__u64 rw_key;
	__u64 ro_addr;
	__u64 ro_key;
	__u8 len;
	__u8 pattern[15];
};

/* First byte of a message. */
enum {
	IOP_ECHO = 'E', /* send the whole message back */
	IOP_SUM = 'C', /* sum of [addr, addr + len) of the peer's memory */
	IOP_WRITE = 'W', /* peer writes len bytes of seed to addr, key */
	IOP_WRITE_SEGS =
		'S', /* the same in IOP_SEGS segments, the last first */
	IOP_WRITEDATA = 'M', /* the same with remote CQ data */
	IOP_READ = 'R', /* peer reads addr, key and sums it up */
	IOP_KILL = 'K', /* peer kills itself */
	IOP_KILL_WRITING = 'D', /* peer begins to write, and kills itself */
	IOP_HANG = 'H', /* peer posts no more receives */
	IOP_QUIT = 'Q', /* peer shuts down */
	IOP_NOTHING = 'N',
};

/* What a write waits for. */
enum iop_level {
	IOP_PLAIN,
	IOP_DELIVERED,
	IOP_COMMITTED,
	IOP_LEVELS
};

#define IOP_SEGS 4

struct iop_cmd {
	__u8 op;
	__u8 refused; /* we must refuse what the peer does */
	__u8 pieces; /* of the peer's buffer; 0 is 1 */
	__u8 level; /* of IOP_WRITE_SEGS: enum iop_level */
	__u8 pad[4];
	__u64 addr;
	__u64 key;
	__u64 len;
	__u64 seed;
};

struct iop_reply {
	__u8 op;
	__u8 pad[7];
	__u64 value;
};

/* Byte i of the pattern of a seed. */
static inline __u8 iop_byte(__u64 seed, __u64 i)
{
	return (__u8)(seed * 131 + i * 7 + (i >> 8) * 13);
}

/* Length of private data between a least and all, another one every time. */
static inline unsigned int iop_data_len(unsigned int least, unsigned int turn)
{
	return IOP_DATA_MAX - turn * 7 % (IOP_DATA_MAX - least + 1);
}

#define IOP_SUM_INIT 0xcbf29ce484222325ull

/* Continue a sum (FNV-1a). */
static inline __u64 iop_sum(__u64 sum, const __u8 *bytes, __u64 len)
{
	__u64 i;

	for (i = 0; i < len; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3ull;
	return sum;
}

#endif /* KFI_INTEROP_WIRE_H */
