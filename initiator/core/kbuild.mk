# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The objects of initiator/core, for the root Kbuild, which puts the folder in
# front of each; they need proto's objects, -I of both folders, and nothing
# else.
kfb-core-objs := kfb_block.o kfb_blockmap.o kfb_client.o \
	kfb_client_ask.o kfb_client_next.o kfb_dirty.o kfb_disk.o kfb_engine.o \
	kfb_engine_connect.o kfb_engine_join.o kfb_fate.o kfb_flush.o \
	kfb_initiator.o kfb_initiator_call.o kfb_initiator_flush.o \
	kfb_initiator_replay.o kfb_initiator_retain.o kfb_list.o \
	kfb_mapcache.o kfb_retain.o kfb_window.o
