# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The objects of initiator/core, for the root Kbuild, which puts the folder in
# front of each; they need proto's objects, -I of both folders, and nothing
# else.
kfb-core-objs := kfb_initiator.o kfb_initiator_call.o kfb_initiator_flush.o \
	kfb_initiator_replay.o kfb_initiator_retain.o \
	blocks/kfb_block.o blocks/kfb_blockmap.o blocks/kfb_disk.o \
	blocks/kfb_list.o blocks/kfb_map_try.o blocks/kfb_mapcache.o \
	data/kfb_dirty.o data/kfb_fate.o data/kfb_flush.o data/kfb_retain.o \
	data/kfb_window.o \
	engine/kfb_engine.o engine/kfb_engine_connect.o \
	engine/kfb_engine_join.o \
	session/kfb_client.o session/kfb_client_ask.o \
	session/kfb_client_next.o session/kfb_refusal.o
