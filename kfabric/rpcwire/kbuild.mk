# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The objects of kfabric/rpcwire for a Kbuild file: include this, then add
# $(rpcw-objs) with its path to the module that speaks the wire.
rpcw-objs := rpcw_hdr.o
