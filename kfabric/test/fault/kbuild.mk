# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_fault.ko: faults and power cuts over any other provider.
obj-m += kfabric_fault.o
kfabric_fault-y := $(addprefix kfabric/test/fault/, \
	module.o info.o mr.o pep.o endpoint.o post.o engine.o hold.o plan.o \
	debugfs.o power.o)

# kfabric_fault_test.ko: shows that each fault has its effect.
obj-m += kfabric_fault_test.o
kfabric_fault_test-y := $(addprefix kfabric/test/fault/, \
	fault_test.o test_pair.o test_cases.o test_power.o)
