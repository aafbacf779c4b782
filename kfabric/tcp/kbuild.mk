# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_tcp.ko: provider over TCP sockets, libfabric's tcp wire format.
obj-m += kfabric_tcp.o
# Deferred: tcpw-objs is defined by tcpwire/kbuild.mk, which may come later.
kfabric_tcp-y = $(addprefix kfabric/tcp/, \
	module.o mr.o socket.o handshake.o pep.o connect.o path.o endpoint.o \
	post.o send.o receive.o place.o finish.o) \
	$(addprefix kfabric/tcpwire/, $(tcpw-objs))
