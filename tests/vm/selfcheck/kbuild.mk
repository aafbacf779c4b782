# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# vm_fault.ko: does what the debug kernel must notice.
obj-m += vm_fault.o
vm_fault-y := tests/vm/selfcheck/fault.o
