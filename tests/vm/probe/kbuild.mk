# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfi_probe.ko: lets functions of the kernel be late, wait, or fail.
obj-m += kfi_probe.o
kfi_probe-y := tests/vm/probe/probe.o tests/vm/probe/frag.o
