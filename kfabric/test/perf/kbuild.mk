# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfi_latency.ko: what kfabric costs beside plain verbs.
obj-m += kfi_latency.o
kfi_latency-y := $(addprefix kfabric/test/perf/, main.o raw.o fabric.o)
