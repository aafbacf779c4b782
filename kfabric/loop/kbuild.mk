# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_loop.ko: endpoints of the same kernel.
obj-m += kfabric_loop.o
kfabric_loop-y := $(addprefix kfabric/loop/, \
	module.o mr.o pep.o connect.o endpoint.o post.o engine.o)
