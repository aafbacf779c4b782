# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfbrick.ko: remote persistent memory as a block device. proto and the
# initiator's core are linked into it.
include $(src)/proto/kbuild.mk
include $(src)/initiator/core/kbuild.mk
obj-m += kfbrick.o
kfbrick-y := $(addprefix initiator/kmod/, main.o \
	attach/attach.o attach/control_dev.o \
	blocks/allocate.o blocks/blocks.o blocks/discard.o blocks/mapcache.o \
	blocks/maps.o blocks/resize.o blocks/restore.o \
	device/calls.o device/device.o device/hmac.o device/key.o \
	device/options.o device/trace.o \
	disk/claims.o disk/disk.o disk/reserve.o disk/sysfs.o \
	io/clears.o io/data.o io/flush.o io/rate.o io/retain.o io/zeroes.o \
	session/fabric.o session/messages.o session/session.o) \
	$(addprefix initiator/core/, $(kfb-core-objs)) \
	$(addprefix proto/, $(kfb-proto-objs))
ccflags-y += -I$(src)/proto -I$(src)/initiator/core
CFLAGS_initiator/kmod/device/trace.o := -I$(src)/initiator/kmod/device
