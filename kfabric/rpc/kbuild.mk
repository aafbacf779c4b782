# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_rpc.ko: the kernel's RPC client, and so NFS, over kfabric. DKMS wants the same
# modules of every kernel: where that has no RPC the module says so when it is loaded.
obj-m += kfabric_rpc.o
# Deferred: rpcw-objs is defined by rpcwire/kbuild.mk, which may come later.
kfabric_rpc-y = $(if $(CONFIG_SUNRPC), \
	$(addprefix kfabric/rpc/, \
		module.o transport.o conn.o region.o slot.o call.o reply.o \
		callback.o) \
	$(addprefix kfabric/rpcwire/, $(rpcw-objs)), \
	kfabric/rpc/absent.o)
