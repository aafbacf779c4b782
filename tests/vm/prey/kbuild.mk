# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfi_prey.ko: an end of the kernel's that hostile peers may do their worst to.
obj-m += kfi_prey.o
kfi_prey-y := tests/vm/prey/prey.o tests/vm/prey/memory.o
