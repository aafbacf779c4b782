# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_selftest.ko: what every provider must do, as KTAP.
obj-m += kfabric_selftest.o
kfabric_selftest-y := $(addprefix kfabric/test/selftest/, \
	beside.o load.o main.o op.o pair.o seg.o t_cntr.o t_core.o t_dummy.o \
	t_info.o t_look.o t_memory.o t_object.o t_wait.o tap.o \
	dgram/t_dgram.o dgram/t_ud.o dgram/t_ud_peer.o \
	msg/t_access.o msg/t_atomic.o msg/t_close.o msg/t_connect.o msg/t_context.o \
	msg/t_cycle.o msg/t_doorbell.o msg/t_late.o msg/t_level.o msg/t_msg.o msg/t_order.o msg/t_queue.o \
	msg/t_read.o msg/t_rma.o msg/t_srx.o msg/t_srx_crowd.o msg/t_srx_offer.o \
	msg/t_strangers.o msg/t_two_closes.o \
	rdm/rdm.o rdm/rogue.o rdm/t_cost.o rdm/t_rdm.o rdm/t_rdm_alloc.o \
	rdm/t_rdm_atomic.o rdm/t_rdm_broken.o rdm/t_rdm_busy.o rdm/t_rdm_context.o \
	rdm/t_rdm_grant.o rdm/t_rdm_grow.o rdm/t_rdm_hostile.o rdm/t_rdm_multi.o \
	rdm/t_rdm_peer.o rdm/t_rdm_rma.o rdm/t_rdm_scalable.o rdm/t_rdm_scale.o \
	rdm/t_rdm_settle.o rdm/t_rdm_tag.o rdm/t_remote.o rdm/t_woken.o)
