# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfi_interop.ko: the kernel's end of the interoperability test.
obj-m += kfi_interop.o
kfi_interop-y := $(addprefix tests/vm/interop/, \
	iop_main.o iop_conn.o iop_buf.o iop_op.o iop_msg.o iop_rma.o iop_peer.o \
	iop_level.o iop_fault.o iop_removal.o)
