# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfbrick.ko: remote persistent memory as a block device. proto and the
# initiator's core are linked into it.
include $(src)/proto/kbuild.mk
include $(src)/initiator/core/kbuild.mk
obj-m += kfbrick.o
kfbrick-y := $(addprefix initiator/kmod/, \
	main.o control_dev.o options.o key.o hmac.o device.o calls.o zeroes.o \
	clears.o retain.o flush.o data.o messages.o fabric.o session.o disk.o sysfs.o \
	claims.o reserve.o rate.o attach.o trace.o) \
	$(addprefix initiator/kmod/blocks/, allocate.o blocks.o discard.o \
	mapcache.o maps.o resize.o restore.o) \
	$(addprefix initiator/core/, $(kfb-core-objs)) \
	$(addprefix proto/, $(kfb-proto-objs))
ccflags-y += -I$(src)/proto -I$(src)/initiator/core
CFLAGS_initiator/kmod/trace.o := -I$(src)/initiator/kmod
