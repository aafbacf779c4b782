# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_verbs.ko: provider over the RDMA connection manager and verbs.
obj-m += kfabric_verbs.o
kfabric_verbs-y := $(addprefix kfabric/verbs/, \
	module.o device.o info.o domain.o cq.o ep.o qp.o cm.o pep.o connreq.o \
	post.o rma.o atomic.o ops.o recv.o completion.o sge.o fastreg.o mr.o srx.o \
	dgram.o dgram_addr.o dgram_ask.o dgram_post.o dgram_recv.o)
