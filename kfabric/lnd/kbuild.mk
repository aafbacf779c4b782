# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_lnd.ko: an LNet-like driver over reliable datagrams.
obj-m += kfabric_lnd.o
# Deferred: lndw-objs is defined by lndwire/kbuild.mk, which may come later.
kfabric_lnd-y = $(addprefix kfabric/lnd/, \
	module.o net.o engine.o request.o move.o) \
	$(addprefix kfabric/lndwire/, $(lndw-objs))
