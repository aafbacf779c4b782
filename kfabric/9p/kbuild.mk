# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_9p.ko: the kernel's 9P file system over kfabric. DKMS wants the same modules
# of every kernel: where that has no 9P, or one whose transports get no options as text
# (from 6.19 on), the module says so when it is loaded.
obj-m += kfabric_9p.o
k9p_fits := $(if $(CONFIG_NET_9P),$(shell \
	grep -ls 'char \*devname, char \*args' $(srctree)/include/net/9p/transport.h))
kfabric_9p-y := $(addprefix kfabric/9p/, \
	$(if $(k9p_fits),module.o options.o conn.o call.o,absent.o))
