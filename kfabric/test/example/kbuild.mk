# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# kfabric_example.ko: the example of docs/kfabric.md.
obj-m += kfabric_example.o
kfabric_example-y := kfabric/test/example/example.o
