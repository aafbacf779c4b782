# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_udp.ko: provider over UDP sockets.
obj-m += kfabric_udp.o
kfabric_udp-y := $(addprefix kfabric/udp/, \
	module.o socket.o endpoint.o engine.o)
