# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_selftest.ko: what every provider must do, as KTAP.
obj-m += kfabric_selftest.o
kfabric_selftest-y := $(addprefix kfabric/test/selftest/, \
	main.o tap.o pair.o op.o seg.o load.o t_core.o t_dummy.o t_info.o \
	t_object.o t_connect.o t_msg.o t_rma.o t_read.o t_access.o \
	t_queue.o t_close.o t_context.o t_cycle.o rdm.o t_rdm.o \
	t_rdm_tag.o t_rdm_multi.o t_rdm_rma.o t_rdm_scalable.o t_rdm_peer.o \
	rogue.o t_rdm_hostile.o t_rdm_grant.o t_rdm_alloc.o t_remote.o beside.o t_memory.o t_cost.o \
	t_rdm_scale.o t_rdm_context.o t_rdm_busy.o t_dgram.o t_cntr.o t_look.o t_wait.o t_order.o \
	t_level.o t_atomic.o t_rdm_atomic.o t_rdm_grow.o t_rdm_broken.o t_rdm_settle.o t_srx.o t_srx_offer.o \
	t_srx_crowd.o t_woken.o t_ud.o t_ud_peer.o)
