# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_lnd_test.ko: load on kfabric_lnd, and what became of each transaction, and a
# peer that breaks the rules of its wire, as KTAP.
obj-m += kfabric_lnd_test.o
kfabric_lnd_test-y := $(addprefix kfabric/test/lnd/, main.o load.o serve.o cases.o \
	hostile.o flood.o raw.o) kfabric/lndwire/lndw_msg.o
