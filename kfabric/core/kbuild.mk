# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_core.ko: registry, objects, queues, everything that is the same for
# all providers.
obj-m += kfabric_core.o
kfabric_core-y := $(addprefix kfabric/core/, \
	module.o provider.o choice.o info.o resolve.o object.o open.o endpoint.o scalable.o srx.o option.o \
	cm.o cq.o eq.o av.o layer.o mr.o buf.o check.o atomic.o post.o cntr.o socket.o debugfs.o strerror.o trace.o)
CFLAGS_kfabric/core/trace.o := -I$(src)/kfabric/core
