# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The objects of kfabric/rdmwire for a Kbuild file: include this, then add
# $(rdmw-objs) with its path to the module that speaks the wire.
rdmw-objs := rdmw_cm.o rdmw_flow.o rdmw_match.o rdmw_multi.o rdmw_rma.o rdmw_grant.o \
	rdmw_atomic.o
