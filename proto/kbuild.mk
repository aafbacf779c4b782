# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The objects of proto/ for a Kbuild file: include this, then add
# $(kfb-proto-objs) with its path to the module that links proto.
kfb-proto-objs := \
	kfb_auth.o \
	codec/kfb_codec.o \
	codec/kfb_codec_private.o \
	codec/kfb_codec_reply.o \
	codec/kfb_codec_request.o \
	kfb_err.o \
	kfb_evicted.o \
	kfb_medium.o \
	codec/kfb_ops.o \
	kfb_path.o \
	kfb_rate.o \
	kfb_scheme.o \
	kfb_session.o \
	kfb_slot.o \
	kfb_text.o \
	kfb_time.o
