# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfi_target.ko: an end of the kernel's that hostile peers may do their worst to.
obj-m += kfi_target.o
kfi_target-y := tests/vm/target/target.o tests/vm/target/memory.o
