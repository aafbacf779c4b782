/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets, as far as compat.h names them; nothing here has one. */
#ifndef SIM_LINUX_NET_H
#define SIM_LINUX_NET_H

#include <sys/socket.h>

#include <linux/types.h>
#include <linux/uio.h>

struct sock {
	bool sk_use_task_frag;
};

struct socket;
struct sim_msghdr {
	struct iov_iter msg_iter;
	unsigned int msg_flags;
};
#define msghdr		 sim_msghdr
#define MSG_SPLICE_PAGES 0x8000000

struct proto_ops {
	int (*sendmsg_locked)(struct sock *sk, struct msghdr *msg, size_t len);
};

struct socket {
	struct sock *sk;
	const struct proto_ops *ops;
};

#endif
