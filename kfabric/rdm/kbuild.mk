# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_rdm.ko: unconnected endpoints over the connected ones of others.
obj-m += kfabric_rdm.o
# Deferred: rdmw-objs is defined by rdmwire/kbuild.mk, which may come later.
kfabric_rdm-y = $(addprefix kfabric/rdm/, \
	module.o info.o endpoint.o context.o post.o engine.o peer.o hello.o conn.o \
	send.o receive.o walk.o kept.o grow.o match.o mr.o rma.o atomic.o \
	grant.o native.o) \
	$(addprefix kfabric/rdmwire/, $(rdmw-objs))
