# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The objects of kfabric/tcpwire for a Kbuild file: include this, then add
# $(tcpw-objs) with its path to the module that speaks the wire.
tcpw-objs := tcpw_cm.o tcpw_err.o tcpw_hdr.o tcpw_tracker.o tcpw_rx.o \
	tcpw_state.o
