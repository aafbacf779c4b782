# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# mirror.ko: a provider that is built outside the tree, too: tests/outside/run.
obj-m += mirror.o
mirror-y := tests/outside/provider/mirror_provider.o
