# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_rds.ko: provider over the kernel's RDS sockets.
obj-m += kfabric_rds.o
kfabric_rds-y := $(addprefix kfabric/rds/, \
	module.o socket.o endpoint.o engine.o host.o send.o receive.o wake.o)
