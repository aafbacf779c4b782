# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The objects of kfabric/lndwire for a Kbuild file: include this, then add
# $(lndw-objs) with its path to the module that speaks the wire.
lndw-objs := lndw_msg.o lndw_peer.o lndw_tx.o lndw_rx.o
